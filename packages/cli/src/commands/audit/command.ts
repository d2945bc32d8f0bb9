/** Commands for the audit log. */
import { AUDIT_RESULT_NAMES } from '../../role-names.ts'
import { command, integer, oneOf, text } from '../../command.ts'

export const auditCommands = [
  command('audit list', {
    summary: 'List the newest records of the audit log: who called what, from where, with which result',
    options: {
      limit: integer('--limit <count>', 'Maximum number of records (default: 50)'),
      user: text('--user <name>', 'Only records of this user or key'),
      query: text('-q, --query <text>', 'Only records with this text in the action, the path or the detail'),
      result: oneOf('--result <result>', 'Only records with this result', AUDIT_RESULT_NAMES),
      output: oneOf('-o, --output <format>', 'Output format (default: a table)', ['json', 'yaml', 'wide']),
    },
    examples: ['windlass audit list --user mira', 'windlass audit list --result denied -o wide'],
    run: async (invocation) => (await import('./action.ts')).listAudit(invocation),
  }),
  command('audit verify', {
    summary: 'Check that no record of the audit log was changed, removed or reordered',
    about:
      'Computes the chain of hashes again. Exits with 1 at the first record that does not fit. Keep the printed last hash outside of the database, and pass it as ' +
      '--expect later: this also finds a chain that was computed again as a whole.',
    options: { expect: text('--expect <seq:hash>', 'A record of an earlier run that the chain must still contain') },
    examples: ['windlass audit verify', 'windlass audit verify --expect 1042:5f2c…'],
    run: async (invocation) => (await import('./action.ts')).verifyAudit(invocation),
  }),
  command('audit export', {
    summary: 'Print all records of the audit log, oldest first, as one JSON object per line',
    options: { after: integer('--after <seq>', 'Only records after this number') },
    examples: ['windlass audit export > audit.ndjson'],
    run: async (invocation) => (await import('./action.ts')).exportAudit(invocation),
  }),
]
