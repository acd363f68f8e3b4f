/** On every Node that people have. */

import { firstHour } from './support/first-hour.ts';

firstHour(['20', '22', '24']);
