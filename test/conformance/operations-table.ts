import { cases } from './cases.ts';
import type { Operation } from './operation.ts';
import { oauthSteps, operations } from './operations.ts';

/** Every operation of the service, as the client's table declares it, and how many cases ask it. */
export function operationsTable(): string {
  const code = (text: string | null) => (text === null ? '' : `\`${text}\``);
  const asked = Object.entries<Operation>(operations).map(([id, row]) => {
    const repeats = row.isOnce ? `never${row.isBilled ? ', costs money' : ''}` : '';
    const { route, section, scope, permission = '', client } = row;
    return tableRow([code(route), section, code(scope), permission, code(client), repeats, countOf(id)]);
  });
  const steps = Object.entries(oauthSteps).map(([id, { section, route }]) =>
    tableRow([code(route), section, '', '', '', '', countOf(id)]),
  );
  const columns = ['operation', 'section', 'scope', 'permission of an OAuth user', 'client', 'repeated', 'cases'];
  return [tableRow(columns), `|${'---|'.repeat(columns.length)}`, ...asked, ...steps].join('\n');
}

function countOf(id: string): number {
  return cases.filter((each) => each.operations.some((one) => one === id)).length;
}

function tableRow(cells: readonly (string | number)[]): string {
  return `| ${cells.join(' | ')} |`;
}
