/** Runs launch-composition steps: an environment on the same daemon that outlives the build. */
import { sha256 } from '@windlass/kit'
import type { ResolvedLaunch } from '@windlass/plan'
import type { StepRun } from '../attempt/context.ts'
import { followContainers } from '../compose/follow.ts'
import { createProject, type Project } from '../compose/project.ts'
import { LABEL_PROJECT, removeProject } from '../compose/remove-project.ts'
import { LABEL_ENVIRONMENT, LABEL_EXPIRES, LABEL_LAUNCHED_BY } from '../attempt/labels.ts'
import { StepFailure, type StepOutcome } from '../attempt/step-outcome.ts'

/** An environment that is not launched again is removed after this time. Milliseconds. */
const LIFETIME_MS = 7 * 86_400_000
const STOP_MS = 2_000

/** Replaces the environment with the same name. It survives the build until it expires or the daemon ends. */
export async function runLaunch(run: StepRun<ResolvedLaunch>): Promise<StepOutcome> {
  const { context, action, output } = run
  const { docker, clock, input } = context
  const name = `windlass-env-${sha256(action.environmentName).slice(0, 12)}`
  const remove = (): Promise<void> => removeProject(docker, name, { graceMs: STOP_MS, builds: true })
  const expiresAt = clock.now() + LIFETIME_MS
  if ((await docker.listContainers([`${LABEL_PROJECT}=${name}`])).length > 0) {
    await output.say(`The environment "${action.environmentName}" is already running. Replacing it.`)
    await remove()
  }
  let isUp = false
  try {
    const project = await createProject(run, {
      name,
      compose: action.compose,
      variables: action.variables,
      directory: action.directory,
      registryContexts: action.registryContexts,
      addVolume: false,
      network: { kind: 'own' },
      moreNetworks: [],
      publish: true,
      keepLogs: true,
      // Without the labels of the build, whose objects are removed at its end.
      labels: {
        [LABEL_ENVIRONMENT]: action.environmentName,
        [LABEL_EXPIRES]: String(Math.floor(expiresAt / 1000)),
        [LABEL_LAUNCHED_BY]: input.buildId,
      },
      reason: 'composition-failed',
    })
    checkEntryPoint(action, project)
    await start(run, project)
    isUp = true
  } finally {
    if (!isUp) await remove()
  }
  const urls = await urlsOf(run, name)
  await output.say(
    `The environment "${action.environmentName}" is up until ${new Date(expiresAt).toISOString()}, or as long as its daemon is.`,
  )
  for (const { service, port, url } of urls) await output.say(`${service}:${port} is at ${url}`)
  const main = urls.find(({ service }) => action.entryPoint === undefined || service === action.entryPoint)
  const members = {
    environmentName: action.environmentName,
    workingDirectory: action.directory,
    url: main?.url ?? '',
    urls: urls.map(({ url }) => url).join(','),
  }
  return { status: 'success', exitCode: 0, members, exports: [] }
}

function checkEntryPoint({ entryPoint }: ResolvedLaunch, { containers }: Project): void {
  if (entryPoint === undefined || entryPoint === '' || containers.some(({ service }) => service === entryPoint)) return
  throw new StepFailure('invalid-step', `The composition has no service "${entryPoint}", which "entry_point" names.`)
}

/** Starts the containers and shows their output until they have started. The daemon keeps later output. */
async function start(run: StepRun<ResolvedLaunch>, project: Project): Promise<void> {
  const following = await followContainers(project.containers, { part: run, write: (parts) => run.output.write(parts) })
  try {
    await project.start(run.signal)
  } finally {
    await following.stop()
  }
}

interface PublishedPort {
  readonly service: string
  readonly port: number
  readonly url: string
}

async function urlsOf({ context }: StepRun, name: string): Promise<PublishedPort[]> {
  const { docker } = context
  const host = /^(?:tcp|https?):\/\/(\[[^\]]+\]|[^:/]+)/.exec(docker.host)?.[1] ?? 'localhost'
  const containers = await docker.listContainers([`${LABEL_PROJECT}=${name}`])
  return containers.flatMap(({ labels, published }) =>
    published.map(({ port, hostPort }) => ({
      service: labels['com.docker.compose.service'] ?? '',
      port,
      url: `http://${host}:${hostPort}`,
    })),
  )
}
