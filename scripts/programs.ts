/** The programs of the project, in one table: their entry points by the name of the bundle. `scripts/bundle.ts` makes `agent.js` of `agent`. */
export const PROGRAMS = {
  server: 'packages/server/src/main.ts',
  'document-worker': 'packages/server/src/documents/document-worker.ts',
  agent: 'packages/agent/src/main.ts',
  engine: 'packages/engine/src/main.ts',
  monitor: 'packages/monitor/src/main.ts',
  'gitlab-helper': 'packages/gitlab/src/helper/main.ts',
  windlass: 'packages/cli/src/main.ts',
  provisioner: 'packages/volumes/src/provisioner/main.ts',
  cleaner: 'packages/volumes/src/cleaner/main.ts',
  'node-disk-cleaner': 'packages/volumes/src/node-disk-cleaner/main.ts',
} as const
