import { cases } from './cases.ts';
import { clauses, sectionOf } from './clauses.ts';
import { oauthSteps, operations } from './operations.ts';

/** The operations of the service with where they are specified, how the client names them, and how many cases ask them. */
export function operationsTable(): string {
  const asked = Object.entries(operations).map(([id, { section, method, path, scope, client }]) =>
    tableRow([`\`${method} ${path}\``, section, `\`${scope}\``, client === null ? '' : `\`${client}\``, countOf(id)]),
  );
  const steps = Object.entries(oauthSteps).map(([id, { section, method, path, client }]) =>
    tableRow([`\`${method} ${path}\``, section, '', `\`${client}\``, countOf(id)]),
  );
  const head = [tableRow(['operation', 'section', 'scope', 'client', 'cases']), '|---|---|---|---|---|'];
  return [...head, ...asked, ...steps].join('\n');
}

/** How much of each section is covered. */
export function coverageTable(): string {
  const sections = Map.groupBy(Object.entries(clauses), ([id]) => (sectionOf(id).split('.')[0] ?? '') as string);
  const rows = [...sections].map(([section, held]) => {
    const ids = new Set(held.map(([id]) => id));
    const testing = cases.filter((each) => each.clauses.some((id) => ids.has(id)));
    const unseen = held.filter(([, clause]) => typeof clause !== 'string');
    const covered = held.filter(([id]) => testing.some((each) => each.clauses.some((one) => one === id)));
    return tableRow([
      `${section} ${titles[section] ?? ''}`,
      held.length,
      covered.length,
      unseen.length,
      testing.length,
    ]);
  });
  return [tableRow(['section', 'clauses', 'tested', 'not visible', 'cases']), '|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

const titles: Record<string, string> = {
  2: 'Resources',
  3: 'States',
  4: 'Endpoints',
  5: 'Authentication',
  6: 'Events',
  7: 'Errors',
  8: 'Limits',
};

function countOf(id: string): number {
  return cases.filter((each) => each.operations.some((one) => one === id)).length;
}

function tableRow(cells: readonly (string | number)[]): string {
  return `| ${cells.join(' | ')} |`;
}
