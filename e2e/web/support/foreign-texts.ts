/** Texts of others in the fields where they can be, and the screens that show them. */
import type { ReportedGitlabJob } from '@windlass/protocol'
import { argoApplication, event, openReporter } from '../../../packages/server/test/support/fakes/application-reporter.ts'
import { reportedJob } from '../../../packages/server/test/support/fakes/gitlab-manager.ts'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'

/** Puts the texts into branches of builds, into the runtime `local`, a view and applications. */
export async function seedForeignTexts(scene: HttpScene, texts: readonly string[]): Promise<void> {
  const { admin } = scene
  for (const branch of texts)
    await admin.builds.create({ document: 'steps: {}', branch }, { idempotencyKey: false }).catch(() => undefined)
  const all = texts.join(' ').slice(0, 900)
  const { name, type, agent } = await admin.runtimes.get('local')
  const label = texts[1]?.slice(0, 60) ?? ''
  const spec = { description: all, runtimeScheduler: { envVars: { FOREIGN: all }, labels: { [label]: 'x' } } }
  await admin.runtimes.put('local', { name, type, agent, isDefault: true, spec }, { query: { description: all } })
  await admin.views.create({ name: 'Foreign', filter: { branch: texts.map((text) => text.slice(0, 300)) } })
  await reportApplications(scene, texts)
}

/** Reports applications with the texts in each of their fields: `foreign-0` and so on. */
async function reportApplications(server: HttpScene, texts: readonly string[]): Promise<void> {
  const { token } = await server.admin.gitopsRuntimes.createToken('prod')
  const report = openReporter(server, token)
  const applications = texts.map((text, index) =>
    argoApplication(`foreign-${index}`, {
      project: text.slice(0, 60),
      health: 'Degraded',
      spec: { source: { repoURL: text, path: text, targetRevision: text } },
      status: {
        conditions: [{ type: text.slice(0, 60), message: text }],
        operationState: { phase: 'Failed', message: text, operation: { initiatedBy: { username: text } } },
        resources: [{ version: 'v1', kind: text, namespace: text, name: text, health: { status: 'Degraded', message: text } }],
        summary: { images: [text] },
      },
    }),
  )
  await report({ data: applications.map((application) => event(application, Date.now())) })
}

/** A job of GitLab with the text in each of its fields. */
export function foreignJob(text: string, number: number): ReportedGitlabJob {
  const short = text.slice(0, 60)
  const names = {
    name: short,
    project: short,
    stage: short,
    ref: short,
    runner: short,
    reason: short,
    pod: short,
    namespace: short,
  }
  return reportedJob(number, { ...names, message: text.slice(0, 1_000) })
}

export const PIPELINE_TABS = ['', '/-/trends', '/-/edit', '/-/triggers', '/-/history?version=1', '/-/settings', '/-/run']
export const TABS = ['', '/graph', '/variables', '/usage', '/events', '/document', '/compare', '/debug']
/** Screens of the fleet, with the runtime `local` and the first reported application. */
export const FLEET_SCREENS = [
  '/runtimes',
  ...['', '/-/disks', '/-/pods', '/-/spec', '/-/spec?edit=true', '/-/history'].map((tab) => `/runtimes/local${tab}`),
  '/agents/agent',
  '/gitlab-jobs',
  '/delivery/apps',
  '/delivery/products',
  ...['', '/diff', '/history'].map((part) => `/delivery/apps/prod/argocd/foreign-0${part}`),
  '/system',
]
