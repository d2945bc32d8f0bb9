/** The command table, in the order of help. */
import type { Command } from './command.ts'
import { applyCommands } from './commands/apply.ts'
import { authCommands } from './commands/auth.ts'
import { buildCommands } from './commands/builds.ts'
import { completionCommands } from './commands/completion.ts'
import { debugCommands } from './commands/debug.ts'
import { doctorCommands } from './commands/doctor.ts'
import { getCommands } from './commands/get.ts'
import { inClusterCommands } from './commands/in-cluster.ts'
import { monitorCommands } from './commands/monitor.ts'
import { planCommands } from './commands/plan.ts'
import { runCommands } from './commands/run.ts'
import { upCommands } from './commands/up.ts'
import { validateCommands } from './commands/validate.ts'
import { versionCommands } from './commands/version.ts'
import { wordCommands } from './commands/words.ts'

export const commands: readonly Command[] = [
  ...runCommands,
  ...validateCommands,
  ...planCommands,
  ...upCommands,
  ...buildCommands,
  ...wordCommands.filter(({ name }) => !name.startsWith('get ')),
  ...debugCommands,
  ...getCommands,
  ...wordCommands.filter(({ name }) => name.startsWith('get ')),
  ...monitorCommands,
  ...applyCommands,
  ...authCommands,
  ...doctorCommands,
  ...completionCommands,
  ...inClusterCommands,
  ...versionCommands,
]

/** What a group of commands is about. */
export const groups: Readonly<Record<string, string>> = {
  auth: 'Log in to servers and choose between them',
  create: 'Create one thing without a file',
  describe: 'Show one thing in full',
  'in-cluster': 'What the Helm chart runs in its pods',
  set: 'Change one thing without a file',
}
