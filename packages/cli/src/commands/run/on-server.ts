import { defined } from '@windlass/kit/defined'
import { fault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import type { Build, BuildInput, RestartInput } from '@windlass/protocol'
import { readChanges } from '../../input/changes.ts'
import { EXIT, worstOf } from '../../exit-codes.ts'
import { toDebugInput } from '../../debug/breakpoints.ts'
import type { Invocation, Values } from '../../command.ts'
import { readInput, sourcesRead } from '../../input/input-files.ts'
import { requireBuildId } from '../../input/build-id.ts'
import { openSession, type Session } from '../../session/session.ts'
import type { Settings } from '../../config.ts'
import { parseSecrets, parseVariables, readVariableSets } from '../../input/variables.ts'
import { actOnMany } from '../builds/act-on-many.ts'
import { followToEnd } from '../builds/follow-to-end.ts'
import type { runOptions } from './options.ts'

type RunOptions = Values<typeof runOptions>

/** Runs `run` on a server. */
export async function runOnServer(invocation: Invocation<RunOptions>): Promise<number> {
  const { args, options, out, settings } = invocation
  const bodies = await toBuildInputs(args[0], options, settings)
  const session = openSession(settings)
  const builds: Build[] = []
  for (const body of bodies) builds.push(await session.client.builds.create(body))
  if (options.detach) {
    for (const build of builds) out.line(options.output === 'json' ? JSON.stringify(build, null, 2) : build.id)
    return 0
  }
  const path = options.file ?? options.yaml
  const file = path === '-' ? '<stdin>' : path
  const codes: number[] = []
  for (const build of builds) {
    const code = await follow({ client: session.client, build, file }, invocation)
    if (code === EXIT.interrupted) return code
    codes.push(code)
  }
  return worstOf(codes)
}

/** Returns one input per variable set. Files with a single set add to all of them. */
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
    throw fault('usage', { message: '-f and -y cannot be combined: both name the document.', hint: 'Remove one of them.' })
  const path = options.file ?? options.yaml
  const file = path === undefined ? undefined : readInput(path)
  if (pipeline === undefined && file === undefined)
    throw fault('usage', {
      message: 'No pipeline was given.',
      hint: 'Name a stored one (see `windlass get pipelines`), or a document with -f.',
    })
  return {
    ...defined({ pipeline }),
    ...(file !== undefined && { document: file.text, file: file.name }),
    ...defined({ branch: options.branch, revision: options.sha }),
    secrets: parseSecrets(options.secret, settings.environment),
    contexts: [...options.context],
    ...defined({ runtime: options.runtime }),
    noCache: options.noCache,
    resetVolume: options.resetVolume,
    noCfCache: options.noCfCache,
    enableNotifications: options.enableNotifications,
    ...(options.only.length > 0 && { only: [...options.only] }),
    ...(options.skip.length > 0 && { skip: [...options.skip] }),
    ...defined({ trigger: options.trigger }),
    ...toAnnotations(options, settings),
    ...toMachine(options),
    ...toDebugInput(options),
  }
}

/** Returns the annotations. A build started within another build is annotated with it as its predecessor. */
function toAnnotations({ annotation }: RunOptions, { environment }: Settings): Pick<BuildInput, 'annotations'> {
  const parent = environment['CF_BUILD_ID']
  const { set } = readChanges(annotation.map((word) => (word.includes('=') ? word : `${word}=`)))
  const annotations = { ...(parent !== undefined && /^[0-9a-f]{24}$/.test(parent) && { cf_predecessor: parent }), ...set }
  return Object.keys(annotations).length === 0 ? {} : { annotations }
}

function toMachine({ cpu, memory, disk }: RunOptions): Pick<BuildInput, 'machine'> {
  const machine = defined({ cpu, memory, disk })
  return Object.keys(machine).length === 0 ? {} : { machine }
}

function refuseLocalOptions(options: RunOptions): void {
  const given = [
    options.source === undefined ? undefined : '--source',
    options.stepTypes === undefined ? undefined : '--step-types',
    options.logLimit === undefined ? undefined : '--log-limit',
    options.secretFile.length > 0 ? '--secret-file' : undefined,
    options.approve.length > 0 ? '--approve' : undefined,
    options.deny.length > 0 ? '--deny' : undefined,
    options.watch ? '--watch' : undefined,
  ].find((name) => name !== undefined)
  if (given !== undefined)
    throw fault('usage', { message: `${given} needs --local.`, hint: 'Add --local, or remove the option.' })
}

interface RestartOptions extends FollowOptions {
  readonly fromFailed: boolean
  readonly from: string | undefined
  readonly variable: readonly string[]
  readonly secret: readonly string[]
  readonly debug: boolean
  readonly break: readonly string[]
  readonly onFailure: boolean
}

interface FollowOptions {
  readonly detach: boolean
  readonly output: 'json' | undefined
  readonly timestamps: boolean
}

/** Runs `restart ID`. */
export async function restartBuild(invocation: Invocation<RestartOptions>): Promise<number> {
  const { args, options, out, settings } = invocation
  const session = openSession(settings)
  if (args.length > 1) return restartMany(session, invocation)
  const build = await session.client.builds.restart(requireBuildId(args[0] ?? ''), toRestartInput(options, settings))
  if (!options.detach) return follow({ client: session.client, build }, invocation)
  out.line(options.output === 'json' ? JSON.stringify(build, null, 2) : build.id)
  return 0
}

/** Restarts several builds without waiting for them. Throws `usage` for options that concern one build. */
async function restartMany(session: Session, { args, options, out }: Invocation<RestartOptions>): Promise<number> {
  const { fromFailed, from, variable, secret, debug, onFailure, output, timestamps } = options
  const lists = variable.length + secret.length + options.break.length
  if (from !== undefined || lists > 0 || debug || onFailure || output !== undefined || timestamps)
    throw fault('usage', {
      message: 'Several builds can be restarted only from the start or with --from-failed.',
      hint: 'Restart them one by one, or remove the other options.',
    })
  const action = fromFailed ? 'restart-failed' : 'restart'
  const toLine = (id: string, build: Build): string => `build/${id} runs again as build/${build.id}`
  await actOnMany(session, out, { ids: args, action, toLine })
  return EXIT.success
}

function toRestartInput(options: RestartOptions, settings: Settings): RestartInput {
  if (options.fromFailed && options.from !== undefined)
    throw fault('usage', { message: '--from-failed and --from cannot be combined.', hint: 'Remove one of them.' })
  const from = options.fromFailed ? 'failed' : options.from
  return {
    ...defined({ from }),
    ...(options.variable.length > 0 && { variables: parseVariables(options.variable, '-v') }),
    ...(options.secret.length > 0 && { secrets: parseSecrets(options.secret, settings.environment) }),
    ...toDebugInput(options),
  }
}

function follow(
  begun: { client: ApiClient; build: Build; file?: string | undefined },
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
