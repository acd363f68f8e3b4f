import { deepStrictEqual } from 'node:assert';
import { after, before, test } from 'node:test';
import { REFUSALS, refusalOf } from '../support/gateway/refusals.ts';
import { type StandIn, startStandIn } from '../support/gateway/stand-in.ts';

const token = 'token-of-the-stand-in';
let standIn: StandIn;

before(async () => {
  standIn = await startStandIn({ token });
});
after(() => standIn.stop());

for (const refused of REFUSALS) {
  test(`the stand-in refuses ${refused.name} as the original does`, async () => {
    const { url, state } = standIn;
    deepStrictEqual(await refusalOf({ url, token, hookToken: state.hookToken }, refused), refused.expected);
  });
}
