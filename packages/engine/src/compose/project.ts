/**
 * One composition on the daemon, by the real `docker compose` in the tools image. Compose reads the document and makes and starts the
 * containers; images, output, waiting and removal are ours, so that logins, masking, time limits and labels hold here as everywhere.
 */
import { readFileSync } from 'node:fs'
import { sha256 } from '@windlass/kit'
import { VOLUME_PATH, type JsonTemplate, type Reason, type ResolvedCompose } from '@windlass/plan'
import { attemptLabels, StepFailure, type StepPart } from '../attempt/context.ts'
import { getRegistry } from '../attempt/registries.ts'
import { loginsFor, toDockerConfig } from '../build/credentials.ts'
import { parseImageName, registryDomain } from '../docker/images.ts'
import { toMounts } from '../steps/mounts.ts'
import { runTool, type ToolEnd } from '../steps/tool-container.ts'
import { ComposeDocument, finishDocument, toDocument, type ComposeNetwork, type Finished } from './document.ts'
import { LABEL_PROJECT } from './remove-project.ts'

const SCRIPT = readFileSync(new URL('compose.sh', import.meta.url), 'utf8')
const FILES = '/run/windlass'

export interface ProjectSpec {
  readonly name: string
  readonly compose: ResolvedCompose
  /** Services that are merged over those of the document; they end by themselves. */
  readonly candidates?: Readonly<Record<string, JsonTemplate>>
  /** `KEY=VALUE` for `${KEY}`. */
  readonly variables: readonly string[]
  /** Relative paths of an inline document start here. */
  readonly directory: string
  readonly registryContexts: readonly string[]
  readonly addVolume: boolean
  readonly network: ComposeNetwork
  readonly moreNetworks: readonly string[]
  readonly publish: boolean
  readonly keepLogs: boolean
  /** Of everything that is made; those of the attempt when absent. */
  readonly labels?: Readonly<Record<string, string>>
  /** What a document that cannot be used is called. */
  readonly reason: Reason
}

export interface ProjectContainer {
  readonly id: string
  readonly service: string
  /** 1-based among the containers of the service. */
  readonly number: number
}

export interface Project {
  readonly name: string
  /** In the order of the document; made and not started. */
  readonly containers: readonly ProjectContainer[]
  /** True when containers may have something to write on the shared volume before they end. */
  readonly sharesVolume: boolean
  /** True when images were built for it, which go with it. */
  readonly builds: boolean
  /** True when ports of the daemon's machine are taken. */
  readonly publishes: boolean
  /** Starts all of them, those that others depend on first; resolves when compose is done. Throws `StepFailure`. */
  start(signal: AbortSignal): Promise<void>
}

/** A name for the project of a step; no two steps of builds that run at once have the same. */
export function projectName(buildId: string, step: string): string {
  return `windlass-${buildId}-${sha256(step).slice(0, 8)}`
}

/** Reads the document, fetches the images, and makes the containers. Throws `StepFailure`. The caller removes the project, whatever happens. */
export async function createProject(part: StepPart, spec: ProjectSpec): Promise<Project> {
  const document = await readDocument(part, spec)
  if (Object.keys(document.services).length === 0)
    throw new StepFailure(spec.reason, 'The composition has no services.', { hint: 'Write at least one service or candidate.' })
  const finished = await finish(part, { spec, document })
  const files = { 'final.json': JSON.stringify(finished.document), variables: '' }
  const options = ['--file', `${FILES}/final.json`]
  const builds = Object.values(document.services).some(({ build }) => build !== undefined)
  if (builds) await buildImages(part, spec, { files, options })
  await runCompose(part, spec, { files, arguments: [...options, '--progress', 'quiet', 'create', '--pull', 'never'] })
  return {
    name: spec.name,
    containers: await listContainers(part, spec.name, Object.keys(document.services)),
    sharesVolume: finished.sharesVolume,
    builds,
    publishes: spec.publish && Object.values(document.services).some(({ ports }) => ports !== undefined),
    async start(signal) {
      await runCompose({ ...part, signal }, spec, { files, arguments: [...options, '--progress', 'quiet', 'start'] })
    },
  }
}

/** With the logins of the account, for what the Dockerfiles stand on. */
async function buildImages(
  part: StepPart,
  spec: ProjectSpec,
  { files, options }: { files: ComposeCall['files']; options: readonly string[] },
): Promise<void> {
  const logins = loginsFor({ registryContexts: spec.registryContexts, buildx: false }, part.context.input.registries)
  await runCompose(part, spec, {
    files: { ...files, 'config.json': JSON.stringify(toDockerConfig(logins)), variables: `DOCKER_CONFIG=${FILES}` },
    arguments: [...options, '--progress', 'plain', 'build'],
  })
}

async function listContainers({ context }: StepPart, name: string, order: readonly string[]): Promise<ProjectContainer[]> {
  const found = await context.docker.listContainers([`${LABEL_PROJECT}=${name}`])
  return found
    .map(({ id, labels }) => ({
      id,
      service: labels['com.docker.compose.service'] ?? '',
      number: Number(labels['com.docker.compose.container-number'] ?? 1),
    }))
    .toSorted((a, b) => order.indexOf(a.service) - order.indexOf(b.service) || a.number - b.number)
}

/** The document as compose understands it: variables filled in, candidates merged, everything in its long form. */
async function readDocument(part: StepPart, spec: ProjectSpec): Promise<ComposeDocument> {
  const { compose, variables, candidates = {} } = spec
  const wrong = variables.find((entry) => !/^[^=\0]+=/.test(entry))
  if (wrong !== undefined)
    throw new StepFailure('invalid-step', `"composition_variables" has "${wrong}", which is not KEY=VALUE.`)
  const { volumeName } = part.context.input
  const overlay = { services: candidates, volumes: { [volumeName]: { external: true, name: volumeName } } }
  const path = 'path' in compose ? compose.path : `${FILES}/composition.json`
  const { result } = await runCompose(part, spec, {
    files: {
      ...('inline' in compose && { 'composition.json': JSON.stringify(toDocument(compose.inline)) }),
      'candidates.json': JSON.stringify(overlay),
      variables: variables.join('\0'),
    },
    arguments: ['--file', path, '--file', `${FILES}/candidates.json`, 'config', '--format', 'json'],
  })
  const parsed = ComposeDocument.safeParse(JSON.parse(result.toString('utf8')))
  if (!parsed.success) throw new StepFailure(spec.reason, `The composition cannot be read: ${parsed.error.message}`)
  return parsed.data
}

async function finish(part: StepPart, { spec, document }: { spec: ProjectSpec; document: ComposeDocument }): Promise<Finished> {
  const { context } = part
  const { input, workspace, docker } = context
  const images = await fetchImages(part, { spec, document })
  const finished = finishDocument(document, {
    labels: spec.labels ?? attemptLabels(input, part.step.name),
    images,
    addVolume: spec.addVolume,
    volumeName: input.volumeName,
    mountpoint: workspace.mountpoint,
    socketPath: input.userAccess ? docker.socketPath : undefined,
    network: spec.network,
    networkOptions: await docker.networkOptions(),
    moreNetworks: spec.moreNetworks,
    candidates: Object.keys(spec.candidates ?? {}),
    publish: spec.publish,
    keepLogs: spec.keepLogs,
  })
  if (finished.problems.length > 0) throw new StepFailure('invalid-step', finished.problems.join(' '))
  // Makes folders that are missing, and refuses links that could lead out of the volume.
  await toMounts(
    context,
    finished.sources.map((source) => ({ source, target: '/', readOnly: false })),
  )
  return finished
}

/** Fetches the images of all services at once; each service gets the image by its id, so that compose has nothing to fetch. */
async function fetchImages(
  { context, output, signal }: StepPart,
  { spec, document }: { spec: ProjectSpec; document: ComposeDocument },
): Promise<Map<string, string>> {
  const contexts = new Map<string, string>()
  for (const name of spec.registryContexts) {
    const { domain } = getRegistry(name, context.input.registries)
    if (contexts.has(domain)) throw new StepFailure('invalid-step', `"registry_contexts" names two integrations of ${domain}.`)
    contexts.set(domain, name)
  }
  const ids = await Promise.all(
    Object.entries(document.services).map(async ([service, { image, build }]) => {
      if (build !== undefined) return []
      if (image === undefined || image === '')
        throw new StepFailure(spec.reason, `Service "${service}" has no image.`, { hint: 'Write `image` or `build`.' })
      const registryContext = contexts.get(registryDomain(parseImageName(image).repository))
      const found = await context.images.ensure(
        { name: image, registryContext },
        { signal, say: (line) => output.say(`${service}: ${line}`) },
      )
      return [[service, found.id] as const]
    }),
  )
  return new Map(ids.flat())
}

interface ComposeCall {
  readonly files: Readonly<Record<string, string>>
  readonly arguments: readonly string[]
}

/** Throws `StepFailure` with the words of compose. */
async function runCompose(part: StepPart, spec: ProjectSpec, call: ComposeCall): Promise<ToolEnd> {
  const { docker } = part.context
  const path = 'path' in spec.compose ? spec.compose.path : undefined
  const directory = path === undefined ? spec.directory : path.replace(/\/[^/]*$/, '') || '/'
  const end = await runTool(part, {
    script: SCRIPT,
    arguments: ['--project-name', spec.name, '--project-directory', directory, ...call.arguments],
    environment: path === undefined ? {} : { COMPOSE_PATH: path },
    secrets: call.files,
    // It talks to the daemon by its socket: a namespace of its own would only have to be made.
    network: 'host',
    mounts: [{ type: 'bind', source: docker.socketPath, target: '/var/run/docker.sock', readOnly: false }],
  })
  if (end.exitCode === 0) return end
  if (path !== undefined && (end.exitCode === 20 || end.exitCode === 21))
    throw new StepFailure(spec.reason, `There is no compose file at ${path}.`, {
      hint: `Paths are relative to \`working_directory\`. Is the repository cloned before? Files are below ${VOLUME_PATH}.`,
    })
  throw new StepFailure(spec.reason, `The composition cannot be started: ${lastWords(end.tail)}`)
}

/** The last line of compose that is not a warning, in the words of the pipeline. */
function lastWords(tail: string): string {
  const lines = tail.split('\n').filter((line) => line.trim() !== '' && !/level=warning/.test(line))
  return (lines.at(-1) ?? 'compose gave no reason')
    .trim()
    .replaceAll(/\/run\/windlass\/(composition|candidates|final)\.json/g, '$1')
}
