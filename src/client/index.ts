/** `openclaw-spine/client`: speak to a Spine server, or be one of its workers. Runs in Node 20 or newer; browsers get browser.ts. */

export { SpineClient } from './client.ts';
export * from './exports.ts';
