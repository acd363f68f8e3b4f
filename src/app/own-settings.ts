/** Names of settings that programs which Spine starts need not see. */

import { SETTINGS } from '../config.ts';

/** Tokens are among them. What is named after OpenClaw is a setting of its command, too. */
export const OWN_SETTINGS = Object.values(SETTINGS)
  .flatMap(({ name, aliases }) => [name, ...aliases])
  .filter((name) => !name.startsWith('OPENCLAW_'));
