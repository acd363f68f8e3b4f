/** Around `npm pack`: what users install is pinned down to the last package, as the lock file pins it here. */

import { copyFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url));
const SHRINKWRAP = at('npm-shrinkwrap.json');

// npm leaves package-lock.json out of what is published, and reads the same text under this name.
if (process.argv.includes('--remove')) rmSync(SHRINKWRAP, { force: true });
else copyFileSync(at('package-lock.json'), SHRINKWRAP);
