import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Context } from '../../context.ts';
import { type Database, sql } from '../../db/database.ts';
import { type RulesVersion, readAllowedMode, readInForce, readVersions } from '../../ledger/rules-in-force.ts';
import { countOf } from '../../ops/format.ts';
import { priceWords, remarksOn } from '../../ops/rules-check.ts';
import { parseRules } from '../../rules/file/parse.ts';
import { RulesError, type RulesProblem } from '../../rules/file/problems.ts';
import type { Mode, RuleSet } from '../../rules/rule.ts';
import { applyRules, RulesChanged } from '../../rules/versions.ts';
import { commandName } from '../../shared/command-name.ts';
import { linesOf } from '../../shared/line-diff.ts';
import { storableText } from '../../shared/storable.ts';
import { signInOf } from '../auth.ts';
import { toldOf } from '../errors.ts';
import { type Html, html, withCode } from '../html.ts';
import { refusalNote, renderPage, section, soft } from '../page.ts';
import { changeFields, changeOf, formOf, maxFormBytes, type TypedChange, typedChange } from './rules-forms.ts';
import { renderSimulation, simulateDraft } from './simulation.ts';
import { lineId, renderDifference, sourceField } from './source-text.ts';
import type { View } from './view.ts';

/* The page on which a support lead changes the rules. It works without JavaScript, and each answer has the text as typed. */

/** Maximum characters of the rules on the page: far more than people write by hand. */
const maxLength = 200_000;

interface Draft extends TypedChange {
  readonly text: string;
}

/** The rules that a draft is to replace. */
interface Standing {
  readonly inForce: RulesVersion | undefined;
  /** RULES_MODE of the workers. */
  readonly allowed: Mode;
}

/** What a button made of a draft. */
interface Review {
  readonly status?: number;
  /** Shown above the text. */
  readonly above?: Html;
  /** Shown below the text. */
  readonly below?: Html;
  readonly problems?: readonly MarkedProblem[];
  /** A newer version that was shown: the next change is based on it. */
  readonly standing?: Standing;
}

interface MarkedProblem extends RulesProblem {
  readonly level: 'problem' | 'warning' | 'notice';
}

/** Serves the page. `done` is the name of the message on the page of rules after a change. */
export function registerRulesEditor(app: FastifyInstance, context: Context, view: View, done: string): void {
  const { settings, log } = context;
  const { db } = context.database;
  const { hoursZone } = settings;
  const read = <T>(work: (connection: Database) => Promise<T>) => work(db);
  const readStanding = () =>
    read(async (connection) => ({
      inForce: await readInForce(connection),
      allowed: (await readAllowedMode(connection)) ?? 'live',
    }));

  /** The rules of a text; or the review that says why there are none. */
  function parsed(text: string): { readonly set: RuleSet } | { readonly refusal: Review } {
    try {
      if (text.length <= maxLength) return { set: parseRules(text, { file: 'rules', timeZone: hoursZone }) };
    } catch (error) {
      if (!(error instanceof RulesError)) throw error;
      return { refusal: { problems: error.problems.map((each) => ({ ...each, level: 'problem' })) } };
    }
    const sentence = `This is longer than ${maxLength} characters, which is too long for this page.`;
    return {
      refusal: { above: refusalNote(html`${sentence} Apply it with <code>${commandName} rules apply</code>.`) },
    };
  }

  async function check({ text }: Draft): Promise<Review> {
    const draft = parsed(text);
    if ('refusal' in draft) return draft.refusal;
    const { warnings, notices, replies } = await read((connection) => remarksOn(draft.set, connection, settings));
    const problems: MarkedProblem[] = [
      ...warnings.map((each) => ({ ...each, level: 'warning' as const })),
      ...notices.map((each) => ({ ...each, level: 'notice' as const })),
    ];
    return {
      problems: problems.sort((a, b) => a.line - b.line),
      above: html`<p class="done" role="status">These rules can be used: ${countOf(draft.set.rules.length, 'rule')}.</p>${replies.map((each) => html`<p class="note">${priceWords(each)}</p>`)}`,
    };
  }

  async function simulated({ text }: Draft, { inForce }: Standing): Promise<Review> {
    const draft = parsed(text);
    if ('refusal' in draft) return draft.refusal;
    const before = inForce && inForce.text !== text ? parsed(inForce.text) : undefined;
    const simulation = await simulateDraft(db, draft.set, before && 'set' in before ? before.set : undefined);
    return { below: renderSimulation(simulation, view) };
  }

  async function apply(draft: Draft, request: FastifyRequest): Promise<Review | string> {
    const rules = parsed(draft.text);
    if ('refusal' in rules) return { ...rules.refusal, status: 422 };
    const change = changeOf(request);
    try {
      const options = { ...change, file: 'rules' };
      const { version } = await applyRules(db, draft.text, options);
      log.info({ ...signInOf(request), action: done, version }, 'A page changed something');
      return `/rules?done=${done}`;
    } catch (error) {
      if (!(error instanceof RulesChanged)) throw error;
      return newerVersion(draft, await readStanding());
    }
  }

  /** Says that another version came into force since the page was opened, and what it changed. */
  async function newerVersion({ basedOn }: Draft, standing: Standing): Promise<Review> {
    const { inForce } = standing;
    if (!inForce) return {};
    const [opened] = await read((connection) => readVersions(connection, sql`version = ${basedOn}`));
    const { version, by, why, appliedAt } = inForce;
    const what = renderDifference(opened?.text ?? '', inForce.text, `Changes of version ${version}`);
    return {
      ...{ status: 409, standing },
      above:
        refusalNote(html`<p>Version ${version} came into force since you opened this page, applied ${view.time(appliedAt)} by ${by}${
          why !== null && html`: ${why}`
        }. Your text was not applied; it stands below as you left it.</p>
${what ? html`<p>What changed. Take it over into your text if it should last:</p>${what}` : html`<p>The text is the same.</p>`}`),
    };
  }

  function difference({ text }: Draft, { inForce }: Standing): Review {
    const changes = renderDifference(inForce?.text ?? '', text, 'Difference to the version in force');
    const title = inForce ? `Difference to version ${inForce.version}, which is in force` : 'Difference to no rules';
    return { below: section(title, changes ?? soft('There is none.'), 'outcome') };
  }

  app.get('/rules/edit', async (request, reply) => {
    const standing = await readStanding();
    const { text = '', version = 0 } = standing.inForce ?? {};
    const draft: Draft = { text, basedOn: version, who: '', why: '' };
    reply.type('text/html; charset=utf-8');
    return reply.send(renderEditor(draft, { standing, view, user: signInOf(request).user }));
  });

  app.post('/rules/edit', { bodyLimit: maxFormBytes }, async (request, reply) => {
    const form = formOf(request);
    const draft: Draft = {
      ...typedChange(request),
      text: storableText((form.get('text') ?? '').replaceAll('\r\n', '\n')),
    };
    let standing: Standing | undefined;
    const review = await (async () => {
      standing = await readStanding();
      const button = form.get('do');
      if (button === 'apply') return apply(draft, request);
      if (button === 'simulate') return simulated(draft, standing);
      return button === 'difference' ? difference(draft, standing) : check(draft);
    })().catch((error: unknown): Review => {
      // The typed text stays on the page, whatever failed.
      const { status, sentence } = toldOf(error);
      if (status === 500) log.error({ err: error }, 'A request could not be answered');
      return { status, above: refusalNote(sentence) };
    });
    if (typeof review === 'string') return reply.redirect(review, 303);
    reply.code(review.status ?? 200).type('text/html; charset=utf-8');
    return reply.send(renderEditor(draft, { standing, view, user: signInOf(request).user, review }));
  });
}

interface Editor {
  /** Undefined while it cannot be read. */
  readonly standing: Standing | undefined;
  readonly view: View;
  /** Who signed in with a name. */
  readonly user: string | undefined;
  readonly review?: Review;
}

function renderEditor(draft: Draft, { view, user, review = {}, ...before }: Editor): string {
  const { above, below, problems = [], standing = before.standing } = review;
  const { inForce } = standing ?? {};
  const basedOn = review.standing ? (inForce?.version ?? 0) : draft.basedOn;
  const marks = new Map(problems.toReversed().map(({ line, level }) => [line, level]));
  return renderPage({
    title: 'Edit the rules',
    current: '/rules',
    parts: [
      html`<p class="about prose">${
        inForce
          ? html`Version ${inForce.version} is in force, applied ${view.time(inForce.appliedAt)} by ${inForce.by}. <a href="/rules/history">All versions</a> are kept.`
          : standing && 'No rules were applied yet.'
      } <code>${commandName} rules facts</code> lists what a condition can use.</p>
${above}
${problems.length > 0 && renderProblems(problems, linesOf(draft.text))}
<form class="editor" method="post" action="/rules/edit">
${sourceField('text', draft.text, { label: 'The rules, as YAML', marks })}
<div class="answers"><button name="do" value="check" formnovalidate>Check</button><button name="do" value="simulate" formnovalidate formaction="/rules/edit#outcome">Simulate</button><button name="do" value="difference" formnovalidate formaction="/rules/edit#outcome">Difference</button></div>
${below}
${section(
  'Apply',
  html`<div class="change">${changeFields(user, { version: basedOn }, draft)}
<button class="act" name="do" value="apply">${review.standing ? `Apply over version ${basedOn}` : 'Apply'}</button></div>
<p class="note">In force for all workers at once${standing && html`; RULES_MODE is ${standing.allowed}`}. A text with an error is never applied.</p>`,
)}
</form>`,
    ],
  });
}

const maxExcerpt = 160;

function renderProblems(problems: readonly MarkedProblem[], lines: readonly string[]): Html {
  const errors = problems.filter(({ level }) => level === 'problem').length;
  const title =
    errors > 0 ? `${countOf(errors, 'error')}, so this cannot be applied` : countOf(problems.length, 'remark');
  return section(
    title,
    html`<ul class="plain problems">${problems.map(
      ({ line, level, message, remedy }) =>
        html`<li><a class="${level}" href="${`#${lineId(line)}`}">Line ${line}</a><div><code>${(lines[line - 1] ?? '').trim().slice(0, maxExcerpt)}</code><p>${withCode(message)} <span class="soft">${withCode(remedy)}</span></p></div></li>`,
    )}</ul>`,
  );
}
