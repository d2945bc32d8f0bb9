import { fault } from '@windlass/kit/faults'
import type { Build, BuildInput, Client, RestartInput } from '@windlass/protocol'
import { createBuild, restart } from '../api.ts'
import { readChanges } from '../changes.ts'
import { EXIT } from '../exit-codes.ts'
import { toDebugInput } from '../debug/breaks.ts'
import type { Invocation, Values } from '../command.ts'
import type { runOptions } from '../commands/run.ts'
import { readInput, sourcesRead } from '../input-files.ts'
import { openSession } from '../session.ts'
import type { Settings } from '../config.ts'
import { parseSecrets, parseVariables, readVariableSets } from '../variables.ts'
import { followToEnd } from './follow-to-end.ts'

type RunOptions = Values<typeof runOptions>

/** `run` against a server. */
export async function runOnServer(invocation: Invocation<RunOptions>): Promise<number> {
  const { args, options, out, settings } = invocation
  const bodies = await toBuildInputs(args[0], options, settings)
  const session = openSession(settings)
  const builds: Build[] = []
  for (const body of bodies) builds.push(await createBuild(session.client, body))
  if (options.detach) {
    for (const build of builds) out.line(options.output === 'json' ? JSON.stringify(build, null, 2) : build.id)
    return 0
  }
  const path = options.file ?? options.yaml
  const file = path === '-' ? '<stdin>' : path
  let worst = 0
  for (const build of builds) {
    const code = await follow({ client: session.client, build, file }, invocation)
    if (code === EXIT.interrupted) return code
    worst = Math.max(worst, code)
  }
  return worst
}

/** One for each set of variables: files with one set add to all of them. */
async function toBuildInputs(pipeline: string | undefined, options: RunOptions, settings: Settings): Promise<BuildInput[]> {
  const files = await Promise.all(options.varFile.map((path) => readVariableSets(path)))
  const shared: Record<string, string> = Object.assign({}, ...files.flatMap((sets) => (sets.length === 1 ? sets : [])))
  const lists = files.filter((sets) => sets.length !== 1).flat()
  const body = toBuildInput(pipeline, options, settings)
  const own = parseVariables(options.variable, '-v')
  return (lists.length === 0 ? [{}] : lists).map((set) => ({ ...body, variables: { ...shared, ...set, ...own } }))
}

function toBuildInput(pipeline: string | undefined, options: RunOptions, settings: Settings): BuildInput {
  refuseLocalOptions(options)
  if (options.file !== undefined && options.yaml !== undefined)
    throw fault('usage', { message: '-f and -y both name the document.', hint: 'Leave one of them out.' })
  const path = options.file ?? options.yaml
  const file = path === undefined ? undefined : readInput(path)
  if (pipeline === undefined && file === undefined)
    throw fault('usage', {
      message: 'Which pipeline?',
      hint: 'Name a stored one (`windlass get pipelines`), or give a document with -f.',
    })
  return {
    ...(pipeline !== undefined && { pipeline }),
    ...(file !== undefined && { document: file.text, file: file.name }),
    ...(options.branch !== undefined && { branch: options.branch }),
    ...(options.sha !== undefined && { revision: options.sha }),
    secrets: parseSecrets(options.secret, settings.environment),
    contexts: [...options.context],
    ...(options.runtime !== undefined && { runtime: options.runtime }),
    noCache: options.noCache,
    resetVolume: options.resetVolume,
    noCfCache: options.noCfCache,
    enableNotifications: options.enableNotifications,
    ...(options.only.length > 0 && { only: [...options.only] }),
    ...(options.skip.length > 0 && { skip: [...options.skip] }),
    ...(options.trigger !== undefined && { trigger: options.trigger }),
    ...toAnnotations(options, settings),
    ...toMachine(options),
    ...toDebugInput(options),
  }
}

/** Inside a build of a server the new build names that one as its predecessor. */
function toAnnotations({ annotation }: RunOptions, { environment }: Settings): Pick<BuildInput, 'annotations'> {
  const parent = environment['CF_BUILD_ID']
  const { set } = readChanges(annotation.map((word) => (word.includes('=') ? word : `${word}=`)))
  const annotations = { ...(parent !== undefined && /^[0-9a-f]{24}$/.test(parent) && { cf_predecessor: parent }), ...set }
  return Object.keys(annotations).length === 0 ? {} : { annotations }
}

function toMachine({ cpu, memory, disk }: RunOptions): Pick<BuildInput, 'machine'> {
  const machine = {
    ...(cpu !== undefined && { cpu }),
    ...(memory !== undefined && { memory }),
    ...(disk !== undefined && { disk }),
  }
  return Object.keys(machine).length === 0 ? {} : { machine }
}

function refuseLocalOptions(options: RunOptions): void {
  const given = [
    options.source === undefined ? undefined : '--source',
    options.stepTypes === undefined ? undefined : '--step-types',
    options.logLimit === undefined ? undefined : '--log-limit',
  ].find((name) => name !== undefined)
  if (given !== undefined)
    throw fault('usage', { message: `${given} goes with --local only.`, hint: 'Add --local, or leave it out.' })
}

interface RestartOptions extends FollowOptions {
  readonly fromFailed: boolean
  readonly from: string | undefined
  readonly variable: readonly string[]
  readonly secret: readonly string[]
  readonly debug: boolean
}

interface FollowOptions {
  readonly detach: boolean
  readonly output: 'json' | undefined
  readonly timestamps: boolean
}

/** `restart ID`. */
export async function restartBuild(invocation: Invocation<RestartOptions>): Promise<number> {
  const { args, options, out, settings } = invocation
  const session = openSession(settings)
  const build = await restart(session.client, args[0] ?? '', toRestartInput(options, settings))
  if (!options.detach) return follow({ client: session.client, build }, invocation)
  out.line(options.output === 'json' ? JSON.stringify(build, null, 2) : build.id)
  return 0
}

function toRestartInput(options: RestartOptions, settings: Settings): RestartInput {
  if (options.fromFailed && options.from !== undefined)
    throw fault('usage', { message: '--from-failed and --from both say where to begin.', hint: 'Leave one of them out.' })
  const from = options.fromFailed ? 'failed' : options.from
  return {
    ...(from !== undefined && { from }),
    ...(options.variable.length > 0 && { variables: parseVariables(options.variable, '-v') }),
    ...(options.secret.length > 0 && { secrets: parseSecrets(options.secret, settings.environment) }),
    ...(options.debug && { debug: {} }),
  }
}

function follow(
  begun: { client: Client; build: Build; file?: string | undefined },
  { options, out }: Invocation<FollowOptions>,
): Promise<number> {
  return followToEnd({
    ...begun,
    out,
    json: options.output === 'json',
    timestamps: options.timestamps,
    mayTerminate: true,
    sources: sourcesRead(),
  })
}
