import { deepStrictEqual, fail, match, ok, strictEqual } from 'node:assert';
import { suite, test, type TestContext } from 'node:test';
import { DOCS_CSS, DOCS_HTML, DOCS_JS, HOME_HTML } from '../../src/http/doors/spine/docs-page.ts';
import { eventually } from '../scheduler/support.ts';
import { httpClient } from '../support/http.ts';
import { openPage } from '../support/small-dom.ts';
import { openServer } from './server.ts';

const MOST_BYTES = 16_000;

suite('the pages for a browser', () => {
  test('are served to anyone, under a policy that lets in nothing from elsewhere', async (t) => {
    const browser = await openBrowser(t);
    for (const path of ['/', '/docs']) {
      const { status, headers } = await browser.get(path);
      deepStrictEqual([status, headers['content-type']], [200, 'text/html; charset=utf-8'], path);
      const policy = String(headers['content-security-policy']);
      match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';/);
      ok(!/unsafe|https?:|data:|\*/.test(policy), policy);
    }
    for (const [path, type] of [
      ['/docs/page.js', 'text/javascript; charset=utf-8'],
      ['/docs/page.css', 'text/css; charset=utf-8'],
    ] as const)
      strictEqual((await browser.get(path)).headers['content-type'], type);
  });

  test('name only what this server has, hold no token, and need no inline script or style', async (t) => {
    const browser = await openBrowser(t);
    const links = new Set<string>();
    for (const page of [DOCS_HTML, HOME_HTML]) {
      ok(!/<script(?![^>]* src=)|<style| style=| on\w+=/.test(page));
      for (const [, link = ''] of page.matchAll(/(?:href|src)="([^"]*)"/g)) links.add(link);
    }
    for (const link of links) {
      ok(/^\/\w*/.test(link), link);
      strictEqual((await browser.get(link)).status, 200, link);
    }
    ok(!/https?:\/\//.test(DOCS_HTML + HOME_HTML + DOCS_CSS + DOCS_JS));
  });

  test('are small, and put nothing into the page as markup or code', () => {
    ok(Buffer.byteLength(DOCS_HTML + DOCS_CSS + DOCS_JS) <= MOST_BYTES);
    ok(
      !/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|localStorage|cookie/.test(
        DOCS_JS,
      ),
    );
  });

  test('show a call, send it from its form, and show the answer: 201 and the job', async (t) => {
    const { url, tokens, head } = await openServer(t);
    const page = openPage(new URL('/docs#createJob', url), DOCS_HTML, DOCS_JS);
    const call = await eventually('the call is opened', 10_000, async () => {
      const found = page.byId('createJob');
      return found?.open === true ? found : null;
    });
    match(call.textContent, /POST\/jobsCreate /);
    match(call.textContent, /target/);
    const [form, answer] = [call.first('form'), call.first('pre')];
    ok(answer.hidden && JSON.parse(form.first('textarea').value) !== null);
    const sent = async (begins: RegExp): Promise<string> => {
      ok(form.tell('submit'), 'the browser itself would leave the page');
      return eventually('it is answered', 10_000, async () =>
        begins.test(answer.textContent) ? answer.textContent : null,
      );
    };
    match(await sent(/^401 /), /unauthorized/);
    const token = page.byId('token');
    ok(token);
    token.value = ` ${tokens.head} `;
    form.first('textarea').value = '{"title":"From the page"}';
    const shown = await sent(/^201 /);
    ok(!answer.hidden);
    const { id } = JSON.parse(shown.slice(shown.indexOf('{'))) as { id: string };
    strictEqual((await head.get(`/jobs/${id}`)).body['title'], 'From the page');

    // A call that needs no body, with a value in its path and one in its query.
    const get = page.byId('getJob');
    ok(get);
    get.open = true;
    const named = (name: string) =>
      get.all().find(({ attributes }) => attributes.get('name') === name) ?? fail(`no field ${name}`);
    named('id').value = id;
    named('wait').value = '1ms';
    get.first('form').tell('submit');
    await eventually('the job is shown', 10_000, async () =>
      /^200 [^]*From the page/.test(get.first('pre').textContent) ? true : null,
    );

    const find = page.byId('find');
    ok(find);
    find.value = 'Claim';
    find.tell('input');
    ok(page.byId('claimJob') !== null && page.byId('createJob') === null);
  });
});

async function openBrowser(t: TestContext) {
  const { url } = await openServer(t);
  const browser = httpClient(url);
  t.after(() => browser.close());
  return browser;
}
