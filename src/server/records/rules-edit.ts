import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Context } from '../../context.ts';
import { type RulesVersion, readAllowedMode, readInForce } from '../../ledger/rules-in-force.ts';
import { parseRules } from '../../rules/file/parse.ts';
import { RulesError, type RulesProblem } from '../../rules/file/problems.ts';
import { priceWords, remarksOn } from '../../rules/file/remarks.ts';
import type { RuleSet } from '../../rules/rule.ts';
import { applyRules, RulesChanged } from '../../rules/versions.ts';
import { commandName } from '../../shared/command-name.ts';
import { countOf } from '../../shared/format.ts';
import { signInOf } from '../auth.ts';
import { BadAddress, toldOf } from '../errors.ts';
import { type Html, html, verbatim, withCode } from '../html.ts';
import { answerPage, link, renderPage, section } from '../page.ts';
import type { Pages } from '../table.ts';
import { differenceCard, linesOf } from './difference.ts';
import { changeFields, changeOf, fieldOf, maxFormBytes, nameField, type TypedChange, typedChange } from './forms.ts';
import { readNames, renderHelp } from './rules-help.ts';
import { simulateDraft } from './simulation.ts';
import type { View } from './view.ts';

/*
 * The page on which a support lead changes the rules. It works without JavaScript, and each answer has the text as
 * typed.
 */

/** Maximum characters of the rules on the page: far more than people write by hand. */
const maxLength = 200_000;

interface Draft extends TypedChange {
  readonly text: string;
}

/** What a button made of a draft. */
interface Review {
  readonly status?: number;
  /** Shown above the text, and below it. */
  readonly above?: Html;
  readonly below?: Html;
  /** A newer version in force, which was shown: the next change is based on it. */
  readonly newer?: number;
}

/** The name of the message on the page of rules after a change. */
export const appliedRules = 'rules-apply';

export function registerRulesEditor(app: FastifyInstance, context: Context, { db }: Pages, view: View): void {
  const { settings, log, database } = context;

  /** Throws a `RulesError` if the text has errors. */
  function rulesOf(text: string): RuleSet {
    if (text.length <= maxLength) return parseRules(text, { file: 'rules', timeZone: settings.hoursZone });
    throw new BadAddress(`This is longer than ${maxLength} characters: apply it with ${commandName} rules apply.`);
  }

  async function check({ text }: Draft): Promise<Review> {
    const set = rulesOf(text);
    const { warnings, notices, replies } = await remarksOn(set, db, settings);
    const remarks = [...problemsOf('warning', warnings, text), ...problemsOf('notice', notices, text)];
    return {
      above: html`<div class="done" role="status"><p>These rules can be used: ${countOf(set.rules.length, 'rule')}.</p>${replies.map((each) => html`<p class="note">${priceWords(each)}</p>`)}</div>
${remarks.length > 0 && section(countOf(remarks.length, 'remark'), html`<ul class="plain problems">${remarks}</ul>`)}`,
    };
  }

  function difference({ text }: Draft, inForce: RulesVersion | undefined): Review {
    const title = inForce ? `Difference to version ${inForce.version}, which is in force` : 'Difference to no rules';
    return { below: differenceCard(title, inForce?.text ?? '', text, 'outcome') };
  }

  /** Undefined once the text is in force. */
  async function apply(draft: Draft, request: FastifyRequest): Promise<Review | undefined> {
    rulesOf(draft.text);
    const change = changeOf(request);
    try {
      const { version } = await applyRules(database.db, draft.text, { ...change, file: 'rules' });
      log.info({ ...signInOf(request), action: appliedRules, version }, 'A page changed something');
      return undefined;
    } catch (error) {
      const newer = error instanceof RulesChanged && (await readInForce(database.db));
      if (!newer) throw error;
      const { version, by, why, appliedAt } = newer;
      const above = refusalNote(
        html`${link(`/rules/history/${version}`, `Version ${version}`)} came into force since you opened this page, applied ${view.time(appliedAt)} by ${by}${why !== null && html`: ${why}`}. Your text was not applied; it stands below as you left it.`,
      );
      return { ...difference(draft, newer), status: 409, newer: version, above };
    }
  }

  const buttons: Readonly<Record<string, typeof apply>> = {
    apply,
    simulate: async ({ text }) => ({ below: await simulateDraft(db, rulesOf(text), view) }),
    difference: async (draft) => difference(draft, await readInForce(db)),
  };

  function reviewOf(error: unknown, text: string): Review {
    if (error instanceof RulesError) {
      const title = `${countOf(error.problems.length, 'error')}, so this cannot be applied`;
      const problems = problemsOf('problem', error.problems, text);
      return { status: 422, above: section(title, html`<ul class="plain problems">${problems}</ul>`) };
    }
    const { status, sentence } = toldOf(error);
    if (status === 500) log.error({ err: error }, 'The page of the rules could not answer');
    return { status, above: refusalNote(sentence) };
  }

  app.get('/rules/edit', async (request, reply) => {
    const { text = '', version: basedOn = 0 } = (await readInForce(db)) ?? {};
    return answerPage(reply, await renderEditor({ text, basedOn, by: '', why: '' }, request));
  });

  app.post('/rules/edit', { bodyLimit: maxFormBytes }, async (request, reply) => {
    const draft = { ...typedChange(request), text: fieldOf(request, 'text') };
    // The typed text stays on the page, whatever failed.
    const button = fieldOf(request, 'do');
    const act = Object.hasOwn(buttons, button) ? buttons[button] : undefined;
    const review = await (act ?? check)(draft, request).catch((error: unknown) => reviewOf(error, draft.text));
    if (!review) return reply.redirect(`/rules?done=${appliedRules}`, 303);
    return answerPage(reply.code(review.status ?? 200), await renderEditor(draft, request, review));
  });

  async function renderEditor(draft: Draft, request: FastifyRequest, review: Review = {}): Promise<string> {
    const { above, below, newer } = review;
    // What can't be read is left out.
    const inForce = await readInForce(db).catch(() => undefined);
    const allowed = await readAllowedMode(db).catch(() => undefined);
    const names = await readNames(db, [...settings.notify.targets.keys()]).catch(() => []);
    const { text } = draft;
    return renderPage({
      title: 'Edit the rules',
      current: '/rules',
      about:
        inForce &&
        html`Version ${inForce.version} is in force, applied ${view.time(inForce.appliedAt)} by ${inForce.by}. <a class="link" href="/rules/history">All versions</a> are kept.`,
      parts: [
        above,
        html`<div class="sheet"><form class="editor" method="post" action="/rules/edit" data-unsaved="${text === (inForce?.text ?? '') ? '' : 'changed'}">
<textarea class="source" name="text" aria-label="The rules, as YAML" wrap="off" spellcheck="false" autocapitalize="off" autocomplete="off" autocorrect="off">
${verbatim(text)}</textarea>
<div class="answers"><button name="do" value="check" formnovalidate>Check</button><button name="do" value="simulate" formnovalidate formaction="/rules/edit#outcome">Simulate</button><button name="do" value="difference" formnovalidate formaction="/rules/edit#outcome">Difference</button></div>
${below}
${section(
  'Apply',
  html`<div class="change">${nameField(signInOf(request).user, draft.by)}${changeFields({ ...draft, basedOn: newer ?? draft.basedOn })}
<button name="do" value="apply">${newer === undefined ? 'Apply' : `Apply over version ${newer}`}</button></div>
<p class="note">In force for all workers at once; RULES_MODE is ${allowed ?? 'live'}. A text with an error is never applied.</p>`,
)}
</form>${renderHelp(names)}</div>`,
      ],
    });
  }
}

/** Why something wasn't done. */
const refusalNote = (content: Html | string) => html`<div class="done refused" role="alert">${content}</div>`;

const maxExcerpt = 160;

/** Errors or remarks, each with its line of the text. */
function problemsOf(level: string, problems: readonly RulesProblem[], text: string): Html[] {
  const lines = linesOf(text);
  return problems.map(
    ({ line, message, remedy }) =>
      html`<li><span class="${level}">Line ${line}</span><div><code>${(lines[line - 1] ?? '').trim().slice(0, maxExcerpt)}</code><p>${withCode(message)} <span class="soft">${withCode(remedy)}</span></p></div></li>`,
  );
}
