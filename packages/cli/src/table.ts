/** The command table, in the order of help. */
import type { Command } from './command.ts'
import { applyCommands } from './commands/apply.ts'
import { authCommands } from './commands/auth.ts'
import { buildCommands } from './commands/builds.ts'
import { completionCommands } from './commands/completion.ts'
import { debugCommands } from './commands/debug.ts'
import { doctorCommands } from './commands/doctor.ts'
import { getCommands } from './commands/get.ts'
import { installCommands } from './commands/install.ts'
import { inClusterCommands } from './commands/in-cluster.ts'
import { monitorCommands } from './commands/monitor.ts'
import { planCommands } from './commands/plan.ts'
import { runCommands } from './commands/run.ts'
import { runnerCommands } from './commands/runner.ts'
import { runtimeCommands } from './commands/runtimes.ts'
import { upCommands } from './commands/up.ts'
import { validateCommands } from './commands/validate.ts'
import { venonaCommands } from './commands/venona.ts'
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
  ...runnerCommands,
  ...installCommands,
  ...runtimeCommands,
  ...authCommands,
  ...doctorCommands,
  ...completionCommands,
  ...venonaCommands,
  ...inClusterCommands,
  ...versionCommands,
]

/** What a group of commands is about. */
export const groups: Readonly<Record<string, string>> = {
  auth: 'Log in to servers and choose between them',
  attach: 'Let an agent serve a runtime environment',
  components: 'Nothing to do here: kept for older scripts',
  create: 'Create one thing without a file',
  delete: 'Delete one thing',
  detach: 'Let an agent no longer serve a runtime environment',
  diff: 'Show what differs',
  install: 'Install parts of a Runner, one by one',
  patch: 'Change one thing',
  runner: 'Install a Runner into a cluster, and look after it',
  uninstall: 'Remove parts of a Runner, one by one',
  venona: 'The old installer: the same words, done by this program',
  describe: 'Show one thing in full',
  'in-cluster': 'What the Helm chart runs in its pods',
  set: 'Change one thing without a file',
}

/** Headings of the top-level help, each with its words. */
const HEADINGS: Readonly<Record<string, readonly string[]>> = {
  Builds: ['run', 'validate', 'plan', 'logs', 'wait', 'terminate', 'restart', 'approve', 'deny', 'annotate', 'debug'],
  Things: ['get', 'describe', 'apply', 'create', 'replace', 'patch', 'delete', 'diff', 'set'],
  'Runners in clusters': ['runner', 'install', 'uninstall', 'attach', 'detach', 'doctor', 'venona', 'components', 'in-cluster'],
}

/** The heading under which help shows a command or group of commands. */
export function headingOf(word: string): string {
  const found = Object.entries(HEADINGS).find(([, words]) => words.includes(word))
  return found === undefined ? 'This machine' : found[0]
}
