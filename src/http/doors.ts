/** All doors of the server. A new one is a folder in doors/ and a name in this list. */

import type { Door } from './door.ts';
import { bridge } from './doors/bridge/door.ts';
import { clawdbot } from './doors/clawdbot/door.ts';
import { mcpDoor } from './doors/mcp/door.ts';
import { scheduler } from './doors/scheduler/door.ts';
import { spine } from './doors/spine/door.ts';

export const DOORS: readonly Door[] = [spine, scheduler, bridge, clawdbot, mcpDoor([spine, scheduler])];
