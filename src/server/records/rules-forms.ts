import type { FastifyRequest } from 'fastify';
import type { RulesVersion } from '../../ledger/rules-in-force.ts';
import type { Change } from '../../rules/versions.ts';
import { signInOf } from '../auth.ts';
import { BadAddress } from '../errors.ts';
import { type Html, html } from '../html.ts';

/* The fields of forms that change the rules. */

/** Maximum bytes of a form. */
export const maxFormBytes = 1_048_576;
const maxNameLength = 100;
const maxWhyLength = 500;

/** The fields of a submitted form. */
export function formOf({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}

/** A change as typed so far. */
export interface TypedChange {
  readonly who: string;
  readonly why: string;
  /** The version in force on the page with the form, 0 for none. */
  readonly basedOn: number;
}

/** What a form says about its change. Whoever signed in with a name is its author. */
export function typedChange(request: FastifyRequest): TypedChange {
  const form = formOf(request);
  const typed = (name: string, max: number) => (form.get(name) ?? '').trim().slice(0, max);
  const basedOn = typed('based_on', 9);
  return {
    who: signInOf(request).user ?? typed('who', maxNameLength),
    why: typed('why', maxWhyLength),
    basedOn: /^\d+$/.test(basedOn) ? Number(basedOn) : -1,
  };
}

/** The author of a change and the reason. Throws `BadAddress` if one is missing. */
export function changeOf(request: FastifyRequest): Required<Change> {
  const { who, why, basedOn } = typedChange(request);
  if (who === '') throw new BadAddress('Nothing was changed: say who you are.');
  if (why === '') throw new BadAddress('Nothing was changed: say why.');
  if (basedOn < 0) throw new BadAddress('Nothing was changed: the form is not complete. Open the page again.');
  return { by: who, why, basedOn };
}

/** The fields of a change. `user`: who signed in with a name, which then needs no field. */
export function changeFields(
  user: string | undefined,
  inForce: Pick<RulesVersion, 'version'> | undefined,
  typed: Pick<TypedChange, 'who' | 'why'> = { who: '', why: '' },
): Html {
  return html`<input type="hidden" name="based_on" value="${inForce?.version ?? 0}">
${user === undefined && html`<label class="field">Your name<input name="who" value="${typed.who}" required maxlength="${maxNameLength}" autocomplete="name"></label>`}
<label class="field">Why<input name="why" value="${typed.why}" required maxlength="${maxWhyLength}" autocomplete="off"></label>`;
}
