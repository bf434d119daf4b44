import type { FastifyRequest } from 'fastify';
import { type ActionName, actions, addressOf } from '../../actions/actions.ts';
import type { Change } from '../../rules/versions.ts';
import { storableText } from '../../shared/storable.ts';
import { signInOf } from '../auth.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html } from '../html.ts';
import type { View } from './view.ts';

/* What forms ask of whoever decides something. */

/** Maximum bytes of a form. */
export const maxFormBytes = 1_048_576;
const maxNameLength = 100;
const maxWhyLength = 500;

/** A field of a submitted form; empty if it is missing. */
export function fieldOf({ body }: FastifyRequest, name: string): string {
  return storableText((body instanceof URLSearchParams && body.get(name)) || '').replaceAll('\r\n', '\n');
}

/** A change of the rules as typed so far. `basedOn`: the version in force on the page with the form, 0 for none. */
export type TypedChange = { readonly [Name in keyof Change]-?: NonNullable<Change[Name]> };

/** What a form says about a change. Whoever signed in with a name is its author. */
export function typedChange(request: FastifyRequest): TypedChange {
  const basedOn = fieldOf(request, 'based_on');
  return {
    by: signInOf(request).user ?? fieldOf(request, 'who').trim().slice(0, maxNameLength),
    why: fieldOf(request, 'why').trim().slice(0, maxWhyLength),
    basedOn: /^\d{1,9}$/.test(basedOn) ? Number(basedOn) : -1,
  };
}

/** Who decides, as it is recorded. Throws `BadAddress` if nobody says so. */
export function whoDecides(request: FastifyRequest): string {
  const { by } = typedChange(request);
  if (by !== '') return by;
  throw new BadAddress('Nothing was changed: say who you are.');
}

/** A complete change of the rules. Throws `BadAddress`. */
export function changeOf(request: FastifyRequest): TypedChange {
  const { why, basedOn } = typedChange(request);
  const by = whoDecides(request);
  if (why === '') throw new BadAddress('Nothing was changed: say why.');
  if (basedOn < 0) throw new BadAddress('Nothing was changed: the form is not complete. Open the page again.');
  return { by, why, basedOn };
}

/** Asks for a name, unless `user` signed in with one. */
export function nameField(user: string | undefined, typed = ''): Html {
  return html`${user === undefined && html`<label class="field">Your name<input name="who" value="${typed}" required maxlength="${maxNameLength}" autocomplete="name"></label>`}`;
}

/** The fields of a change of the rules, beside the name. */
export function changeFields({ why = '', basedOn = 0 }: Partial<TypedChange>): Html {
  return html`<input type="hidden" name="based_on" value="${basedOn}">
<label class="field">Why<input name="why" value="${why}" required maxlength="${maxWhyLength}" autocomplete="off"></label>`;
}

/** Buttons, and the action and its arguments that each asks for. */
type Answers = Readonly<Record<string, readonly [name: ActionName, given?: Readonly<Record<string, string>>]>>;

/**
 * Asks for confirmation: what would happen, what has to be typed, and the answers. Works without JavaScript. A live page
 * doesn't refresh while the question is open.
 */
export function ask({ user }: View, label: string, question: string, answers: Answers, fields?: Html): Html {
  const asked = Object.entries(answers);
  const isSigned = actions.some(({ name, isSigned }) => isSigned && asked.some(([, [own]]) => own === name));
  const buttons = asked.map(
    ([text, [name, given]]) => html`<button formaction="${addressOf(name, given)}">${text}</button>`,
  );
  return html`<details class="ask"><summary>${label} …</summary><form method="post"><p>${question}</p>${fields}${isSigned && nameField(user)}<div class="answers">${buttons}</div></form></details>`;
}
