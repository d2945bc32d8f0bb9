/**
 * Runs one composition on the daemon with the real `docker compose` in the tools image. Compose reads the document and creates and starts the
 * containers. The engine handles images, output, waiting and removal, so that logins, masking, timeouts and labels work as for other steps.
 */
import { readFileSync } from 'node:fs'
import { defined, sentences, sha256 } from '@windlass/kit'
import { VOLUME_PATH, type JsonTemplate, type Reason, type ResolvedCompose } from '@windlass/plan'
import type { StepPart } from '../attempt/context.ts'
import { getRegistry } from '../attempt/registries.ts'
import { authsIn, loginsFor, toDockerConfig } from '../image-build/credentials.ts'
import { parseImageName, registryDomain } from '../docker/images.ts'
import { toMounts } from '../containers/mounts.ts'
import { INSIDE, outsideFailure, OUTSIDE, roots } from '../containers/inside.ts'
import { runTool, type ToolEnd } from '../containers/tool-container.ts'
import { finishDocument, toDocument, type ComposeNetwork, type Finished } from './document.ts'
import { LABEL_PROJECT } from './remove-project.ts'
import { buildPaths } from './rights.ts'
import { attemptLabels } from '../attempt/labels.ts'
import { StepFailure } from '../attempt/step-outcome.ts'
import { ComposeDocument } from './schema.ts'

const SCRIPT = `${INSIDE}\n${readFileSync(new URL('compose.sh', import.meta.url), 'utf8')}`
const FILES = '/run/windlass'

export interface ProjectSpec {
  readonly name: string
  readonly compose: ResolvedCompose
  /** Services merged over those of the document. They end by themselves. */
  readonly candidates?: Readonly<Record<string, JsonTemplate>>
  /** `KEY=VALUE` entries for `${KEY}`. */
  readonly variables: readonly string[]
  /** Base of relative paths in an inline document. */
  readonly directory: string
  readonly registryContexts: readonly string[]
  readonly addVolume: boolean
  readonly network: ComposeNetwork
  readonly moreNetworks: readonly string[]
  readonly publish: boolean
  readonly keepLogs: boolean
  /** Labels of all created objects. Default: those of the attempt. */
  readonly labels?: Readonly<Record<string, string>>
  /** Reason code for an invalid document. */
  readonly reason: Reason
}

export interface ProjectContainer {
  readonly id: string
  readonly service: string
  /** 1-based number among the containers of the service. */
  readonly number: number
}

export interface Project {
  readonly name: string
  /** In the order of the document. Created but not started. */
  readonly containers: readonly ProjectContainer[]
  /** True if containers may write to the shared volume before they end. */
  readonly sharesVolume: boolean
  /** True if images were built for it. They are removed with it. */
  readonly builds: boolean
  /** True if it publishes ports on the daemon's machine. */
  readonly publishes: boolean
  /** Starts all containers in the order of their dependencies. Resolves when compose is done. Throws `StepFailure`. */
  start(signal: AbortSignal): Promise<void>
}

/** Returns the project name for a step, unique among concurrent builds. */
export function projectName(buildId: string, step: string): string {
  return `windlass-${buildId}-${sha256(step).slice(0, 8)}`
}

/** Reads the document, pulls the images and creates the containers. Throws `StepFailure`. The caller must remove the project in any case. */
export async function createProject(part: StepPart, spec: ProjectSpec): Promise<Project> {
  const document = await readDocument(part, spec)
  if (Object.keys(document.services).length === 0)
    throw new StepFailure(spec.reason, 'The composition has no services.', { hint: 'Add at least one service or candidate.' })
  const finished = await finish(part, { spec, document })
  const files = { 'final.json': JSON.stringify(finished.document), variables: '' }
  const options = ['--file', `${FILES}/final.json`]
  const places = Object.values(document.services).flatMap(buildPaths)
  const builds = Object.values(document.services).some(({ build }) => build !== undefined)
  if (builds) await buildImages(part, spec, { files: { ...files, places: places.join('\0') }, options })
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

/** Builds images with the logins of the account for their base images. */
async function buildImages(
  part: StepPart,
  spec: ProjectSpec,
  { files, options }: { files: ComposeCall['files']; options: readonly string[] },
): Promise<void> {
  const logins = loginsFor({ registryContexts: spec.registryContexts, buildx: false }, part.context.input.registries)
  part.output.hide(authsIn(logins))
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

/** Returns the document as compose reads it: variables substituted, candidates merged, in long form. */
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
    isReading: true,
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
  if (finished.problems.length > 0) throw new StepFailure('invalid-step', sentences(...finished.problems))
  // Creates missing folders and rejects links that lead out of the volume.
  await toMounts(
    context,
    finished.sources.map((source) => ({ source, target: '/', readOnly: false })),
  )
  return finished
}

/** Pulls the images of all services in parallel. Services get their image by id, so that compose pulls nothing. */
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
        throw new StepFailure(spec.reason, `Service "${service}" has no image.`, { hint: 'Add `image` or `build`.' })
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
  /** Without daemon, network and logins: files written by steps may name any other file, and errors quote its contents. */
  readonly isReading?: true
}

/** Throws `StepFailure` with the error message of compose. */
async function runCompose(part: StepPart, spec: ProjectSpec, call: ComposeCall): Promise<ToolEnd> {
  const { docker } = part.context
  const path = 'path' in spec.compose ? spec.compose.path : undefined
  const directory = path === undefined ? spec.directory : path.replace(/\/[^/]*$/, '') || '/'
  const end = await runTool(part, {
    script: SCRIPT,
    arguments: ['--project-name', spec.name, '--project-directory', directory, ...call.arguments],
    environment: { ...roots(part.context), ...defined({ COMPOSE_PATH: path }) },
    secrets: call.files,
    // Compose uses the socket of the daemon, so a separate network namespace would only cost time.
    network: call.isReading ? 'none' : 'host',
    mounts: call.isReading ? [] : [{ type: 'bind', source: docker.socketPath, target: '/var/run/docker.sock', readOnly: false }],
  })
  if (end.exitCode === 0) return end
  if (end.exitCode === OUTSIDE) throw outsideFailure(end.tail)
  if (path !== undefined && (end.exitCode === 20 || end.exitCode === 21))
    throw new StepFailure(spec.reason, `There is no compose file at ${path}.`, {
      hint: `Paths are relative to \`working_directory\`. Clone the repository in an earlier step. Files are below ${VOLUME_PATH}.`,
    })
  throw composeFailure(end.tail, spec.reason)
}

/** Returns the failure for the end of the output of compose. */
export function composeFailure(tail: string, reason: ProjectSpec['reason']): StepFailure {
  const error = lastError(tail)
  // Compose passes the errors of the daemon on. A full disk is a failure of the runtime there, as for the container of a step.
  const isFull = /Error response from daemon: .*no space left on device/.test(error)
  return new StepFailure(isFull ? 'disk-full' : reason, `The composition cannot be started: ${error}`)
}

/** Returns the last line of compose that is not a warning, without paths of the engine. */
function lastError(tail: string): string {
  const lines = tail.split('\n').filter((line) => line.trim() !== '' && !/level=warning/.test(line))
  return (lines.at(-1) ?? 'compose gave no reason')
    .trim()
    .replaceAll(/\/run\/windlass\/(composition|candidates|final)\.json/g, '$1')
}
