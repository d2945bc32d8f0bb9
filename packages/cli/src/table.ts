/** The command table, in the order of help. */
import type { Command } from './command.ts'
import { annotationCommands } from './commands/annotations/command.ts'
import { appProxyCommands } from './commands/app-proxy/command.ts'
import { applicationCommands } from './commands/applications/command.ts'
import { applyCommands } from './commands/apply/command.ts'
import { approvalCommands } from './commands/approvals/command.ts'
import { auditCommands } from './commands/audit/command.ts'
import { authCommands } from './commands/auth/command.ts'
import { buildCommands } from './commands/builds/command.ts'
import { checkCommands } from './commands/check/command.ts'
import { connectCommands } from './commands/connect/command.ts'
import { completionCommands } from './commands/completion/command.ts'
import { debugCommands } from './commands/debug/command.ts'
import { doctorCommands } from './commands/doctor/command.ts'
import { getCommands } from './commands/get/command.ts'
import { gitlabCommands } from './commands/gitlab/command.ts'
import { gitopsCommands } from './commands/gitops/command.ts'
import { gitopsApplicationCommands } from './commands/gitops-applications/command.ts'
import { gitopsIntegrationCommands } from './commands/gitops-integrations/command.ts'
import { gitopsPipelineCommands } from './commands/gitops-pipelines/command.ts'
import { gitopsRepositoryCommands } from './commands/gitops-repository/command.ts'
import { gitopsRuntimeCommands } from './commands/gitops-runtime/command.ts'
import { gitopsImageCommands } from './commands/gitops-images/command.ts'
import { gitopsServiceCommands } from './commands/gitops-services/command.ts'
import { gitopsWorkflowCommands } from './commands/gitops-workflows/command.ts'
import { releaseCommands } from './commands/releases/command.ts'
import { healthCommands } from './commands/health/command.ts'
import { importCommands } from './commands/import/command.ts'
import { installCommands } from './commands/install/command.ts'
import { inClusterCommands } from './commands/in-cluster/command.ts'
import { linkCommands } from './commands/links/command.ts'
import { loginCommands } from './commands/login/command.ts'
import { migrateCommands } from './commands/migrate/command.ts'
import { monitorCommands } from './commands/monitor/command.ts'
import { notificationCommands } from './commands/notifications/command.ts'
import { openCommands } from './commands/open/command.ts'
import { planCommands } from './commands/plan/command.ts'
import { queueCommands } from './commands/queue/command.ts'
import { routerCommands } from './commands/router/command.ts'
import { runCommands } from './commands/run/command.ts'
import { runnerCommands } from './commands/runner/command.ts'
import { runtimeCommands } from './commands/runtimes/command.ts'
import { serverCommands } from './commands/server/command.ts'
import { settingsCommands } from './commands/settings/command.ts'
import { statsCommands } from './commands/stats/command.ts'
import { triggerCommands } from './commands/triggers/command.ts'
import { tunnelCommands } from './commands/tunnel/command.ts'
import { upCommands } from './commands/up/command.ts'
import { userCommands } from './commands/users/command.ts'
import { validateCommands } from './commands/validate/command.ts'
import { pipelineVersionCommands } from './commands/pipeline-versions/command.ts'
import { viewCommands } from './commands/views/command.ts'
import { venonaCommands } from './commands/venona/command.ts'
import { versionCommands } from './commands/version/command.ts'

const annotationAndSettingsCommands = [...annotationCommands, ...settingsCommands]

export const commands: readonly Command[] = [
  ...runCommands,
  ...validateCommands,
  ...planCommands,
  ...upCommands,
  ...openCommands,
  ...buildCommands,
  ...approvalCommands,
  ...linkCommands,
  ...annotationAndSettingsCommands.filter(({ name }) => !name.startsWith('get ')),
  ...debugCommands,
  ...getCommands,
  ...queueCommands.filter(({ name }) => name.startsWith('get ')),
  ...healthCommands,
  ...statsCommands,
  ...viewCommands,
  ...annotationAndSettingsCommands.filter(({ name }) => name.startsWith('get ')),
  ...queueCommands.filter(({ name }) => !name.startsWith('get ')),
  ...monitorCommands,
  ...applyCommands,
  ...pipelineVersionCommands,
  ...connectCommands,
  ...checkCommands,
  ...triggerCommands,
  ...notificationCommands,
  ...importCommands,
  ...migrateCommands,
  ...runnerCommands,
  ...installCommands,
  ...runtimeCommands,
  ...gitlabCommands,
  ...gitopsCommands,
  ...gitopsIntegrationCommands,
  ...gitopsServiceCommands,
  ...gitopsRepositoryCommands,
  ...gitopsApplicationCommands,
  ...gitopsWorkflowCommands,
  ...gitopsImageCommands,
  ...gitopsPipelineCommands,
  ...applicationCommands,
  ...gitopsRuntimeCommands,
  ...releaseCommands,
  ...tunnelCommands,
  ...routerCommands,
  ...appProxyCommands,
  ...loginCommands,
  ...authCommands,
  ...userCommands,
  ...auditCommands,
  ...serverCommands,
  ...doctorCommands,
  ...completionCommands,
  ...venonaCommands,
  ...inClusterCommands,
  ...versionCommands,
]

/** Descriptions of command groups. */
export const groups: Readonly<Record<string, string>> = {
  'app-proxy': 'Serve the users of a GitOps runtime or a Runner',
  audit: 'Read and check the audit log',
  auth: 'Log in to servers and switch between them',
  attach: 'Attach a runtime environment to an agent',
  check: 'Let agents check resources',
  connect: 'Connect the server with other services',
  components: 'Accepted for older scripts; does nothing',
  create: 'Create a resource from flags',
  'create context': 'Create a context from flags',
  'create context secret-store': 'Create a context that reads secrets of a store',
  delete: 'Delete a resource',
  gitlab: 'Register and manage GitLab runners',
  gitops: 'Manage GitOps runtimes',
  'gitops chart': 'Manage the chart of a GitOps runtime that Argo CD installs',
  'gitops cluster': 'Manage the clusters that a GitOps runtime deploys to',
  'gitops config': 'Manage the shared configuration repository',
  'gitops git-source': 'Manage the repositories that a GitOps runtime applies',
  'gitops image': 'Report images, and show their commits and issues',
  'gitops pipeline': 'Manage the delivery pipelines of a GitOps runtime',
  'gitops release': 'Manage releases of products',
  'gitops service': 'Manage the logins of registries and Jira of a GitOps runtime',
  'gitops token': 'Manage the tokens of GitOps runtimes',
  'gitops workflow': 'Operate workflows of Argo Workflows in a GitOps runtime',
  import: 'Load resources that others have written',
  detach: 'Detach a runtime environment from an agent',
  diff: 'Compare resources',
  install: 'Install components of a Runner separately',
  notification: 'Check notifications',
  patch: 'Update fields of a resource',
  replay: 'Process something again',
  restore: 'Write an earlier version of a resource again',
  router: 'Pass the calls of a GitOps runtime to its services',
  share: 'Show builds and badges to people without an account',
  runner: 'Install and manage a Runner in a cluster',
  server: 'Manage a server',
  trigger: 'Examine the triggers of pipelines',
  tunnel: 'Make a GitOps runtime reachable',
  upgrade: 'Upgrade components of a Runner separately',
  uninstall: 'Remove components of a Runner separately',
  venona: 'Compatibility with the old `venona` installer',
  describe: 'Show the details of a resource',
  'in-cluster': 'Commands that the Helm chart runs in its pods',
  set: 'Change settings from flags',
}

/** Headings of the top-level help, with their commands and groups. */
const HEADINGS: Readonly<Record<string, readonly string[]>> = {
  Builds: [
    'run',
    'validate',
    'plan',
    'open',
    'logs',
    'wait',
    'terminate',
    'confirm-gone',
    'restart',
    'approve',
    'deny',
    'share',
    'annotate',
    'debug',
  ],
  Resources: [
    'get',
    'describe',
    'apply',
    'create',
    'connect',
    'check',
    'replace',
    'import',
    'migrate',
    'patch',
    'delete',
    'diff',
    'restore',
    'set',
    'replay',
    'trigger',
    'notification',
    'search',
  ],
  'Users and access': ['login', 'logout', 'whoami', 'auth', 'invite', 'audit'],
  'Runners in clusters': [
    'runner',
    'install',
    'upgrade',
    'uninstall',
    'attach',
    'detach',
    'doctor',
    'venona',
    'components',
    'in-cluster',
  ],
  'GitLab runners': ['gitlab'],
  'GitOps runtimes': ['gitops', 'tunnel', 'router', 'app-proxy'],
}

/** Returns the help heading of a command or group. */
export function headingOf(word: string): string {
  const found = Object.entries(HEADINGS).find(([, names]) => names.includes(word))
  return found === undefined ? 'Local' : found[0]
}
