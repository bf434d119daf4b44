import * as z from 'zod';
import { retryTelling } from '../rules/actions/tell.ts';
import { rollbackRules } from '../rules/versions.ts';
import { UserError } from '../shared/errors.ts';
import { action, longestReason, wholeNumber } from './action.ts';

const noReason = 'Nothing was changed: say why.';

export const ruleActions = [
  action({
    name: 'rules retry',
    help: 'Performs failed notify and webhook steps again: those of a run, or all that were to tell a target.',
    words: '[run]',
    args: z
      .object({
        run: z
          .string()
          .regex(/^\d{1,18}$/, 'A run is a whole number: `list rules` shows it.')
          .optional(),
        to: z.string().optional().describe('all failed steps that were to tell this target'),
        /** The text or call on whose page it was asked for. */
        of: z
          .string()
          .regex(/^[\d.]{1,30}$/)
          .optional(),
      })
      .refine(({ run, to }) => (run === undefined) !== (to === undefined), 'Name a run, or a target by --to.'),
    async run({ db }, { run, to = '' }) {
      const steps = await retryTelling(db, run === undefined ? { target: to } : { runIds: [run] });
      if (steps === 0) throw new UserError('No notify or webhook step failed there, or it is under way again.');
      return { steps };
    },
    done: 'Sent again within seconds.',
    page: ({ of }) => (of === undefined ? '/rules' : `/rules/explain/${of}`),
  }),
  action({
    name: 'rules rollback',
    help: 'Makes the text of an earlier version the one in force, for all workers at once, as a new version.',
    words: '<version>',
    args: z.object({
      version: wholeNumber('A version is a whole number.').max(2_147_483_647, 'There is no such version.'),
      why: z
        .string(noReason)
        .trim()
        .min(1, noReason)
        .max(...longestReason)
        .describe('the reason, for the history'),
      /** The version in force on the page that asks. */
      based_on: z.coerce.number().int().nonnegative().optional(),
    }),
    isSigned: true,
    async run({ db }, { version, why, based_on: basedOn }, by) {
      await rollbackRules(db, { by, why, basedOn, to: version });
    },
    done: 'The earlier text is in force again, for all workers, as a new version.',
    page: () => '/rules',
  }),
];
