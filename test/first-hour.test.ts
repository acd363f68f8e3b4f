/** On the oldest Node that people have; on the others with `npm run test:nodes`. */

import { firstHour } from './support/first-hour.ts';

firstHour(['20']);
