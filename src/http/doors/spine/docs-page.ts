/**
 * The description of the API for people: a page that reads /openapi.json, shows each call and sends it. It loads nothing from
 * elsewhere, and what it shows is put into the page as text, never as markup.
 */

export const DOCS_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Spine API</title>
<link rel="stylesheet" href="/docs/page.css">
<script src="/docs/page.js" defer></script>
</head>
<body>
<header>
<h1>Spine API</h1>
<label>Token <input id="token" type="password" autocomplete="off" placeholder="kept on this page alone"></label>
<label>Find <input id="find" type="search" placeholder="claim, /jobs, schedule …"></label>
</header>
<main id="calls"><p>Reading <a href="/openapi.json">/openapi.json</a> …</p></main>
<noscript><p>This page needs JavaScript. The same is in <a href="/openapi.json">/openapi.json</a>.</p></noscript>
</body>
</html>
`;

export const HOME_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Spine</title>
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<header><h1>Spine</h1></header>
<main>
<p>A durable job queue for AI agents. This is its server.</p>
<ul>
<li><a href="/docs">The API, to read and to try</a></li>
<li><a href="/openapi.json">The same for programs, in OpenAPI</a></li>
<li><a href="/skill.md">One page for agents</a>; their tools are at <code>/mcp</code></li>
<li><a href="/ready">Whether the server can take work now</a></li>
</ul>
</main>
</body>
</html>
`;

export const DOCS_CSS = `:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; }
header { position: sticky; top: 0; display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center;
  padding: .5rem 1rem; background: Canvas; border-bottom: 1px solid GrayText; z-index: 1; }
h1 { font-size: 1.2rem; margin: 0; }
h2 { font-size: 1.05rem; margin: 1.5rem 0 .25rem; }
main { max-width: 60rem; margin: 0 auto; padding: 0 1rem 3rem; }
details { scroll-margin-top: 4rem; border-bottom: 1px solid color-mix(in srgb, GrayText 35%, Canvas); }
summary { cursor: pointer; padding: .35rem 0; }
summary b { display: inline-block; min-width: 4.2rem; }
summary code { font-weight: 600; overflow-wrap: anywhere; }
summary span { opacity: .75; margin-left: .5rem; }
form { display: grid; gap: .5rem; margin: .5rem 0 1rem; }
form label { display: grid; grid-template-columns: minmax(8rem, 14rem) 1fr; gap: .5rem; align-items: start; }
form small, td small { opacity: .75; }
input, textarea, button { font: inherit; padding: .25rem .4rem; }
textarea { width: 100%; min-height: 8rem; box-sizing: border-box; font: 13px/1.4 ui-monospace, monospace; }
button { justify-self: start; }
table { border-collapse: collapse; margin: .25rem 0 .75rem; }
td { padding: .15rem .75rem .15rem 0; vertical-align: top; }
pre { overflow: auto; max-height: 30rem; padding: .5rem; background: color-mix(in srgb, GrayText 12%, Canvas); }
@media (max-width: 40rem) { form label { grid-template-columns: 1fr; } summary span { display: block; } }
`;

export const DOCS_JS = `'use strict';
const SHOWN_CHARS = 200000;

function make(name, text, attributes) {
  const element = document.createElement(name);
  if (text !== undefined && text !== null) element.textContent = text;
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  return element;
}

/** What a reference stands for. */
function found(api, schema) {
  let at = schema || {};
  for (let i = 0; at.$ref && i < 10; i++)
    at = at.$ref.split('/').slice(1).reduce((inner, step) => inner[step], api);
  return at;
}

function typeOf(api, schema) {
  const { type, enum: choices, items, const: only } = found(api, schema);
  if (choices) return choices.join(' | ');
  if (only !== undefined) return JSON.stringify(only);
  if (type === 'array' && items) return 'list of ' + typeOf(api, items);
  return [].concat(type || 'any').join(' | ');
}

function fieldTable(api, schema) {
  const { properties = {}, required = [] } = found(api, schema);
  const table = make('table');
  for (const [name, field] of Object.entries(properties)) {
    const row = make('tr');
    const cell = make('td');
    cell.append(make('code', name), required.includes(name) ? ' *' : '');
    row.append(cell, make('td', typeOf(api, field)));
    const words = make('td');
    words.append(make('small', found(api, field).description || ''));
    row.append(words);
    table.append(row);
  }
  return table;
}

function body(operation) {
  const content = (operation.requestBody || {}).content || {};
  return content['application/json'] || null;
}

/** Built when it is opened: there are many calls, and a reader wants a few. */
function fill(api, place, method, path, operation) {
  for (const line of operation.description.split('\\n\\n')) place.append(make('p', line));
  const form = make('form');
  const inputs = [];
  for (const parameter of operation.parameters || []) {
    const label = make('label');
    const words = make('span');
    words.append(make('code', parameter.name), parameter.required ? ' *' : '', make('br'), make('small', parameter.description || ''));
    const input = make('input', null, { name: parameter.name, autocomplete: 'off' });
    if (parameter.required) input.required = true;
    label.append(words, input);
    form.append(label);
    inputs.push({ parameter, input });
  }
  const json = body(operation);
  let text = null;
  if (json) {
    text = make('textarea', JSON.stringify(json.example || {}, null, 2), { spellcheck: 'false', 'aria-label': 'body' });
    form.append(text);
  }
  const isForm = operation.requestBody && !json;
  const isStream = Object.values(operation.responses).some((one) => (one.content || {})['text/event-stream']);
  const answer = make('pre', null, { hidden: '' });
  if (isForm || isStream) form.append(make('p', isForm ? 'Send files with curl: -F file=@report.pdf' : 'Follow this with curl -N.'));
  else form.append(make('button', method === 'GET' ? 'Try it' : 'Send it', { type: 'submit' }));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send({ method, path, inputs, text, answer });
  });
  place.append(form, answer);
  if (json) place.append(make('h3', 'Fields'), fieldTable(api, json.schema));
  const [status, good] = Object.entries(operation.responses).find(([code]) => code[0] === '2') || [];
  const content = good && Object.values(good.content || {})[0];
  if (content) place.append(make('h3', 'Answer ' + status), fieldTable(api, content.schema));
}

async function send({ method, path, inputs, text, answer }) {
  let url = path;
  const query = new URLSearchParams();
  const headers = {};
  for (const { parameter, input } of inputs) {
    if (input.value === '') continue;
    if (parameter.in === 'path') url = url.replace('{' + parameter.name + '}', encodeURIComponent(input.value));
    else if (parameter.in === 'query') query.set(parameter.name, input.value);
    else headers[parameter.name] = input.value;
  }
  const token = document.getElementById('token').value.trim();
  if (token !== '') headers.authorization = 'Bearer ' + token;
  if (text !== null) headers['content-type'] = 'application/json';
  const asked = query.toString();
  answer.hidden = false;
  answer.textContent = '…';
  try {
    const response = await fetch(asked === '' ? url : url + '?' + asked, {
      method,
      headers,
      body: text === null ? undefined : text.value,
      cache: 'no-store',
    });
    answer.textContent = response.status + ' ' + response.statusText + '\\n' + pretty(await response.text());
  } catch (error) {
    answer.textContent = 'No answer: ' + error.message;
  }
}

function pretty(text) {
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Not everything is JSON.
  }
  return shown.length > SHOWN_CHARS ? shown.slice(0, SHOWN_CHARS) + '…' : shown;
}

function show(api, words) {
  const main = document.getElementById('calls');
  main.textContent = '';
  for (const tag of api.tags) {
    const section = make('section');
    section.append(make('h2', tag.name), make('p', tag.description));
    let count = 0;
    for (const [path, methods] of Object.entries(api.paths))
      for (const [name, operation] of Object.entries(methods)) {
        const method = name.toUpperCase();
        const all = [method, path, operation.operationId, operation.summary].join(' ').toLowerCase();
        if (!operation.tags.includes(tag.name) || !all.includes(words)) continue;
        count++;
        const details = make('details', null, { id: operation.operationId });
        const summary = make('summary');
        summary.append(make('b', method), make('code', path), make('span', operation.summary));
        details.append(summary);
        details.addEventListener('toggle', () => {
          if (details.childElementCount === 1) fill(api, details, method, path, operation);
        });
        section.append(details);
      }
    if (count > 0) main.append(section);
  }
  if (main.childElementCount === 0) main.append(make('p', 'Nothing is called so.'));
}

async function begin() {
  const main = document.getElementById('calls');
  try {
    const api = await (await fetch('/openapi.json')).json();
    const find = document.getElementById('find');
    find.addEventListener('input', () => show(api, find.value.trim().toLowerCase()));
    show(api, '');
    const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (named && named.tagName === 'DETAILS') {
      named.open = true;
      named.scrollIntoView();
    }
  } catch (error) {
    main.textContent = 'The description cannot be read: ' + error.message;
  }
}

begin();
`;
