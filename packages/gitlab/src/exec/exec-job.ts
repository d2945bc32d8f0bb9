/**
 * Runs one job of a `.gitlab-ci.yml` on a Docker daemon, without a GitLab server. The containers, the stages and the log are those of a pod of a cluster
 * (`helper/`, `job/`); this file only starts them, shows the log, and removes them. The working tree is copied (docs/development/adr/0122).
 */
import { randomBytes } from 'node:crypto'
import { openDocker, type ContainerSpec, type Docker, type RegistryLogin } from '@windlass/engine/docker'
import { aborted, fault, type Clock } from '@windlass/kit'
import type { JobResult } from '../helper/supervise.ts'
import { endLine, failureText } from '../manager/trace-writer.ts'
import { maskText } from '../trace/mask-text.ts'
import { buildSpec, helperSpec, LABEL_RUN, LABEL_STARTED, serviceSpec, type SceneOptions } from './containers.ts'
import type { ExecPlan } from './exec-plan.ts'
import { copyIn } from './copy-in.ts'
import { followLog, type ShownLog } from './follow-log.ts'
import { ensureImage } from './images.ts'
import { removeAll, removeLeftovers } from './leftovers.ts'
import { takeArtifacts } from './take-artifacts.ts'
import { watchContainer, type Watched } from './watch-container.ts'

export interface ExecOptions {
  readonly plan: ExecPlan
  /** Folder of the working tree. */
  readonly root: string
  readonly helperImage: string
  /** Volume of the caches, which is kept. */
  readonly cacheVolume: string
  /** Removes the caches of earlier runs first. */
  readonly resetsCache: boolean
  /** Folder for artifacts; undefined: they are not kept. */
  readonly artifactsFolder: string | undefined
  readonly isPrivileged: boolean
  /** Variables of the docker command, by which the daemon is found. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly logins: readonly RegistryLogin[]
  readonly clock: Clock
  /** Aborted to end the job. */
  readonly signal: AbortSignal
  /** Takes the log of the job. The next bytes come when the promise has resolved. */
  readonly write: (bytes: Buffer) => Promise<void>
  /** Takes a line for the user that is not part of the log. */
  readonly note: (line: string) => void
}

/**
 * Runs the job. Resolves to its result when everything of it is removed from the daemon. Throws `docker-unreachable` and `docker-refused`, and the reason of the
 * signal once it is aborted.
 */
export async function execJob(options: ExecOptions): Promise<JobResult> {
  const { clock, signal, note } = options
  const docker = await openDocker({ env: options.environment }, signal)
  const run = randomBytes(8).toString('hex')
  try {
    await removeLeftovers(docker, clock)
    return await runJobOn(docker, options, run)
  } finally {
    // An error here would hide that of the job.
    await removeAll(docker, [`${LABEL_RUN}=${run}`], clock).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      note(`WARNING: Not everything of the job could be removed: ${why} A later run removes it.`)
    })
    docker.close()
  }
}

async function runJobOn(docker: Docker, options: ExecOptions, run: string): Promise<JobResult> {
  const { plan, clock, signal, note, write } = options
  const images = { docker, logins: options.logins, signal, note }
  await ensureImage(options.helperImage, undefined, images)
  await ensureImage(plan.image, plan.pullPolicy, images)
  for (const { image, pullPolicies } of plan.services) await ensureImage(image, pullPolicies[0], images)
  if (options.resetsCache) await docker.removeVolume(options.cacheVolume)
  const labels = { [LABEL_RUN]: run, [LABEL_STARTED]: String(clock.now()) }
  const volumes = { builds: `windlass-builds-${run}`, exchange: `windlass-exchange-${run}`, cache: options.cacheVolume }
  await docker.createVolume(volumes.builds, labels)
  await docker.createVolume(volumes.exchange, labels)
  await docker.createVolume(volumes.cache, {})
  const scene: SceneOptions = { plan, helperImage: options.helperImage, labels, volumes, isPrivileged: options.isPrivileged }
  const helper = await docker.createContainer(helperSpec(scene))
  const { count } = await copyIn({ docker, helper, plan, root: options.root, signal })
  note(`Copied the working tree ${options.root} (${count} ${count === 1 ? 'file' : 'files'}) to ${plan.projectFolder}.`)
  signal.throwIfAborted()
  const attachment = await docker.attachContainer(helper, { stdin: true })
  try {
    const log = followLog(attachment.output, { plan, write })
    // Awaited below, where an error of another container can come first.
    log.ended.catch(() => undefined)
    await docker.startContainer(helper, { tries: 1 })
    const result = await awaitJob(docker, { ...options, scene, helper, log })
    await log.write(endLine(failureText(result, { timeoutS: plan.timeoutS })))
    const { artifactsFolder: folder } = options
    if (folder !== undefined && (await takeArtifacts({ docker, helper, count: plan.archives, folder, root: options.root })))
      note(`Copied the artifacts to ${folder}.`)
    return result
  } finally {
    attachment.close()
  }
}

interface Running extends ExecOptions {
  readonly scene: SceneOptions
  readonly helper: string
  readonly log: ShownLog
}

/** Starts the other containers and waits for the end of the job. */
async function awaitJob(docker: Docker, running: Running): Promise<JobResult> {
  const { log, signal } = running
  const over = new AbortController()
  const started = startOthers(docker, running, over.signal)
  try {
    const broken = started.then(({ broken: reason }) => reason)
    broken.catch(() => undefined)
    return await Promise.race([log.ended, broken, whenAborted(signal)])
  } finally {
    over.abort()
    // A container that is being created would outlive the removal of all others.
    await started.catch(() => undefined)
  }
}

/** Starts the services and the build container. `broken` rejects if the latter ends before its job. `over` is aborted when the job has ended. */
async function startOthers(
  docker: Docker,
  { scene, helper, plan, note, log, clock, signal }: Running,
  over: AbortSignal,
): Promise<{ readonly broken: Promise<never> }> {
  const start = async (spec: ContainerSpec, onLine?: (line: string) => void): Promise<Watched> => {
    AbortSignal.any([signal, over]).throwIfAborted()
    const id = await docker.createContainer(spec)
    const watched = await watchContainer(docker, id, onLine)
    await docker.startContainer(id, { tries: 1 })
    return watched
  }
  for (const [index, service] of plan.services.entries()) {
    const show = (line: string): void => {
      if (!over.aborted) log.service(index, `[service:${service.container}] ${line}`)
    }
    const { ended } = await start(serviceSpec(scene, service, helper), plan.showsServices ? show : undefined)
    void ended.then(
      ({ exitCode, tail }) => {
        if (!over.aborted && !signal.aborted)
          note(`WARNING: The service ${service.image} ended with exit code ${exitCode}.${quoted(tail, plan)}`)
      },
      () => undefined,
    )
  }
  const build = await start(buildSpec(scene, helper))
  const broken = build.ended.then(async ({ exitCode, tail }): Promise<never> => {
    // The shell of the job also ends when the job does, and the log can wait for who reads it.
    do await clock.sleep(END_MS, over)
    while (log.isMoving())
    throw fault('docker-refused', {
      message: `The container of the image ${plan.image} ended with exit code ${exitCode} before its job.${quoted(tail, plan)}`,
      hint: 'The image needs a POSIX shell, and an entrypoint has to run its arguments.',
    })
  })
  broken.catch(() => undefined)
  return { broken }
}

/** Longest time without a part of the log after the end of the shell of a job. Milliseconds. */
const END_MS = 5_000

/** Returns the last output of a container, masked as the log. */
function quoted(tail: string, { variables: { masked }, masksAllTokens }: ExecPlan): string {
  return tail.trim() === '' ? '' : `\n${maskText(tail.trimEnd(), { masked, tokenPrefixes: [], masksAllTokens })}`
}

/** Rejects with the reason of the signal once it is aborted. */
async function whenAborted(signal: AbortSignal): Promise<never> {
  await aborted(signal)
  throw signal.reason
}
