import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Context } from '../../context.ts';
import { type RulesVersion, readAllowedMode, readInForce } from '../../ledger/rules-in-force.ts';
import { parseRules } from '../../rules/file/parse.ts';
import { RulesError, type RulesProblem } from '../../rules/file/problems.ts';
import { priceWords, remarksOn } from '../../rules/file/remarks.ts';
import type { Mode, RuleSet } from '../../rules/rule.ts';
import { applyRules, RulesChanged, readRuleSet } from '../../rules/versions.ts';
import { commandName } from '../../shared/command-name.ts';
import { countOf } from '../../shared/format.ts';
import { linesOf } from '../../shared/line-diff.ts';
import { signInOf } from '../auth.ts';
import { BadAddress, toldOf } from '../errors.ts';
import { type Html, html, verbatim, withCode } from '../html.ts';
import { answerPage, link, refusalNote, renderPage, section, soft } from '../page.ts';
import type { Pages } from '../table.ts';
import { changeFields, changeOf, fieldOf, maxFormBytes, type TypedChange, typedChange } from './forms.ts';
import { readNames, renderHelp } from './rules-help.ts';
import { renderDifference } from './rules-version.ts';
import { renderSimulation, simulateDraft } from './simulation.ts';
import type { View } from './view.ts';

/* The page on which a support lead changes the rules. It works without JavaScript, and each answer has the text as typed. */

/** Maximum characters of the rules on the page: far more than people write by hand. */
const maxLength = 200_000;

interface Draft extends TypedChange {
  readonly text: string;
}

/** What a draft is to replace, and what it can name. */
interface Standing {
  readonly inForce: RulesVersion | undefined;
  /** RULES_MODE of the workers. */
  readonly allowed: Mode;
  readonly help: Html;
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

interface MarkedProblem extends RulesProblem {
  readonly level: 'problem' | 'warning' | 'notice';
}

/** The name of the message on the page of rules after a change. */
export const appliedRules = 'rules-apply';

export function registerRulesEditor(app: FastifyInstance, context: Context, { db }: Pages, view: View): void {
  const { settings, log, database } = context;

  const readStanding = async (): Promise<Standing> => ({
    inForce: await readInForce(db),
    allowed: (await readAllowedMode(db)) ?? 'live',
    help: renderHelp(await readNames(db, [...settings.notify.targets.keys()])),
  });

  /** Throws a `RulesError` if the text has errors. */
  function rulesOf(text: string): RuleSet {
    if (text.length <= maxLength) return parseRules(text, { file: 'rules', timeZone: settings.hoursZone });
    throw new BadAddress(`This is longer than ${maxLength} characters: apply it with ${commandName} rules apply.`);
  }

  async function check({ text }: Draft): Promise<Review> {
    const set = rulesOf(text);
    const { warnings, notices, replies } = await remarksOn(set, db, settings);
    const remarks = [
      ...warnings.map((each) => ({ ...each, level: 'warning' as const })),
      ...notices.map((each) => ({ ...each, level: 'notice' as const })),
    ].sort((a, b) => a.line - b.line);
    return {
      above: html`<div class="done" role="status"><p>These rules can be used: ${countOf(set.rules.length, 'rule')}.</p>${replies.map((each) => html`<p class="note">${priceWords(each)}</p>`)}</div>
${remarks.length > 0 && renderProblems(countOf(remarks.length, 'remark'), remarks, text)}`,
    };
  }

  async function simulated({ text }: Draft, { inForce }: Standing): Promise<Review> {
    const draft = rulesOf(text);
    const isSame = inForce === undefined || inForce.text === text;
    // This release may not understand those in force.
    const before = isSame ? undefined : await readRuleSet(db, settings.hoursZone).catch(() => undefined);
    return { below: renderSimulation(await simulateDraft(db, draft, before), view) };
  }

  function difference({ text }: Draft, { inForce }: Standing): Review {
    const changes = renderDifference(inForce?.text ?? '', text, 'Difference to the version in force');
    const title = inForce ? `Difference to version ${inForce.version}, which is in force` : 'Difference to no rules';
    return { below: section(title, changes ?? soft('There is none.'), 'outcome') };
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
      return {
        ...difference(draft, { ...(await readStanding()), inForce: newer }),
        status: 409,
        newer: version,
        above,
      };
    }
  }

  function reviewOf(error: unknown, text: string): Review {
    if (error instanceof RulesError) {
      const problems = error.problems.map((each) => ({ ...each, level: 'problem' as const }));
      const title = `${countOf(problems.length, 'error')}, so this cannot be applied`;
      return { status: 422, above: renderProblems(title, problems, text) };
    }
    const { status, sentence } = toldOf(error);
    if (status === 500) log.error({ err: error }, 'The page of the rules could not answer');
    return { status, above: refusalNote(sentence) };
  }

  app.get('/rules/edit', async (request, reply) => {
    const standing = await readStanding();
    const { text = '', version = 0 } = standing.inForce ?? {};
    const draft = { text, basedOn: version, by: '', why: '' };
    return answerPage(reply, renderEditor(draft, request, standing));
  });

  app.post('/rules/edit', { bodyLimit: maxFormBytes }, async (request, reply) => {
    const draft = { ...typedChange(request), text: fieldOf(request, 'text') };
    let standing: Standing | undefined;
    let review: Review | undefined;
    try {
      standing = await readStanding();
      const button = fieldOf(request, 'do');
      if (button === 'apply') review = await apply(draft, request);
      else if (button === 'simulate') review = await simulated(draft, standing);
      else review = button === 'difference' ? difference(draft, standing) : await check(draft);
    } catch (error) {
      // The typed text stays on the page, whatever failed.
      review = reviewOf(error, draft.text);
    }
    if (!review) return reply.redirect(`/rules?done=${appliedRules}`, 303);
    const page = renderEditor(draft, request, standing, review);
    return answerPage(reply.code(review.status ?? 200), page);
  });

  /** `standing` is undefined while it cannot be read. */
  function renderEditor(
    draft: Draft,
    request: FastifyRequest,
    standing: Standing | undefined,
    { above, below, newer }: Review = {},
  ): string {
    const { inForce, allowed, help } = standing ?? {};
    const { text } = draft;
    return renderPage({
      title: 'Edit the rules',
      current: '/rules',
      about: inForce
        ? html`Version ${inForce.version} is in force, applied ${view.time(inForce.appliedAt)} by ${inForce.by}. <a class="link" href="/rules/history">All versions</a> are kept.`
        : standing && 'No rules were applied yet.',
      parts: [
        above,
        html`<div class="sheet"><form class="editor" method="post" action="/rules/edit" data-unsaved="${text === (inForce?.text ?? '') ? '' : 'changed'}">
<textarea class="source" name="text" aria-label="The rules, as YAML" wrap="off" spellcheck="false" autocapitalize="off" autocomplete="off" autocorrect="off">
${verbatim(text)}</textarea>
<div class="answers"><button name="do" value="check" formnovalidate>Check</button><button name="do" value="simulate" formnovalidate formaction="/rules/edit#outcome">Simulate</button><button name="do" value="difference" formnovalidate formaction="/rules/edit#outcome">Difference</button></div>
${below}
${section(
  'Apply',
  html`<div class="change">${changeFields(signInOf(request).user, { ...draft, basedOn: newer ?? draft.basedOn })}
<button name="do" value="apply">${newer === undefined ? 'Apply' : `Apply over version ${newer}`}</button></div>
<p class="note">In force for all workers at once${allowed && html`; RULES_MODE is ${allowed}`}. A text with an error is never applied.</p>`,
)}
</form>${help}</div>`,
      ],
    });
  }
}

const maxExcerpt = 160;

function renderProblems(title: string, problems: readonly MarkedProblem[], text: string): Html {
  const lines = linesOf(text);
  return section(
    title,
    html`<ul class="plain problems">${problems.map(
      ({ line, level, message, remedy }) =>
        html`<li><span class="${level}">Line ${line}</span><div><code>${(lines[line - 1] ?? '').trim().slice(0, maxExcerpt)}</code><p>${withCode(message)} <span class="soft">${withCode(remedy)}</span></p></div></li>`,
    )}</ul>`,
  );
}
