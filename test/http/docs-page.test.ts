import { deepStrictEqual, match, ok, strictEqual } from 'node:assert';
import { suite, test, type TestContext } from 'node:test';
import { Script } from 'node:vm';
import { DOCS_CSS, DOCS_HTML, DOCS_JS, HOME_HTML } from '../../src/http/doors/spine/docs-page.ts';
import { httpClient } from '../support/http.ts';
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
    ok(new Script(DOCS_JS));
  });
});

async function openBrowser(t: TestContext) {
  const { url } = await openServer(t);
  const browser = httpClient(url);
  t.after(() => browser.close());
  return browser;
}
