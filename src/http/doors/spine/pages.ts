/** What a browser is shown: where it is, and the API to read and try. */

import { route, type Route } from '../../routes.ts';
import { Page } from './answers.ts';
import { DOCS_CSS, DOCS_HTML, DOCS_JS, HOME_HTML } from './docs-page.ts';

const HTML_TYPE = 'text/html; charset=utf-8';
/** Nothing from elsewhere, nothing that stands in the page itself, and no form that leaves it. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export const pageRoutes: readonly Route[] = [
  page('/', 'getHome', 'Where a browser is, and where it may go on.', HOME_HTML),
  page('/docs', 'getDocs', 'This API for people, to read and to try.', DOCS_HTML),
  part('/docs/page.js', 'getDocsScript', 'text/javascript; charset=utf-8', DOCS_JS),
  part('/docs/page.css', 'getDocsStyle', 'text/css; charset=utf-8', DOCS_CSS),
];

function page(path: string, name: string, about: string, text: string): Route {
  return route({
    method: 'GET',
    path,
    name,
    about,
    who: 'anyone',
    answer: Page,
    media: HTML_TYPE,
    handle: async ({ reply }) => {
      reply.header('content-security-policy', PAGE_POLICY);
      return text;
    },
  });
}

function part(path: string, name: string, media: string, text: string): Route {
  const about = 'A part of the page at /docs.';
  return route({
    method: 'GET',
    path,
    name,
    about,
    who: 'anyone',
    unlisted: true,
    answer: Page,
    media,
    handle: async () => text,
  });
}
