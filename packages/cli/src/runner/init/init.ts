/** `runner init`: questions, a plan, and its steps; a run that was cut short goes on where it stopped. */
import { readFileSync } from 'node:fs'
import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { DEMO_SCOPES, INSTALLER_SCOPES, type InstallationEventInput } from '@windlass/protocol'
import { createInstallation, reportInstallation } from '../../api-runner.ts'
import type { Invocation } from '../../command.ts'
import type { Settings } from '../../config.ts'
import type { Printer } from '../../printer.ts'
import type { Session } from '../../session.ts'
import { openHelm } from '../helm/helm.ts'
import { logIn, requireScopes, type LoginFlags } from '../log-in.ts'
import { listNoEffect } from '../values/chart-values.ts'
import { readWishes, type ValueFlags, type Wishes } from '../values/wishes.ts'
import { installActions } from './actions.ts'
import { silentAsker, terminalAsker, type Asker } from './asker.ts'
import { detectProxies } from './detect-proxies.ts'
import { writeDryRun } from './dry-run.ts'
import { finish } from './finish.ts'
import { planInstallation, type PlannedStep } from './plan.ts'
import { prepare, type InitFlags, type Prepared } from './prepare.ts'
import { findBefore } from './resume.ts'
import { runPlan, type Progress } from './run-plan.ts'
import { fingerprint, markLines, removeState, saveState, stateFolder, type InstallState } from './state.ts'

export interface InitOptions extends ValueFlags, LoginFlags, InitFlags {
  readonly yes: boolean
  readonly startOver: boolean
  readonly helm?: string | undefined
  readonly chart?: string | undefined
  readonly demoImage?: string | undefined
  readonly appProxy?: boolean | undefined
}

/** Installs, or with `--dry-run` writes what would be installed. Resolves to the exit code. */
export async function initRunner({ options, out, settings }: Invocation<InitOptions>): Promise<number> {
  refuseAppProxy(options)
  const asker = chooseAsker(options, out)
  const given = readWishes(options)
  for (const line of listNoEffect(given.installer)) out.note(`No effect: ${line}.`)
  refuseInsecure(given)
  const wishes = await detectProxies(given, asker, settings)
  if (options.dryRun) return writeDryRun({ wishes, options, asker, out, settings })
  const session = await logIn(
    { ...options, url: options.url ?? wishes.installer.CodefreshHost, token: options.token ?? wishes.installer.Token },
    { settings, out },
  )
  await requireScopes(session, [...INSTALLER_SCOPES, ...(options.execDemoPipeline === false ? [] : DEMO_SCOPES)])
  const folder = stateFolder(settings.configFile)
  const asked = fingerprint([options.values, wishes, options.name, session.url])
  const before = await findBefore({ folder, wishes, asked, asker, out, startOver: options.startOver })
  const prepared = await prepare({ wishes, flags: options, asker, settings, session, before })
  await using _cluster = prepared.cluster
  const plan = planInstallation(prepared.choices)
  await confirm({ plan, prepared, wishes, session, asker, out })
  const progress = openProgress(folder, before ?? (await newState({ prepared, session, asked, wishes })))
  return carryOut({ options, out, settings, wishes, session, prepared, plan, progress, folder })
}

interface Work {
  readonly options: InitOptions
  readonly out: Printer
  readonly settings: Settings
  readonly wishes: Wishes
  readonly session: Session
  readonly prepared: Prepared
  readonly plan: readonly PlannedStep[]
  readonly progress: Progress
  readonly folder: string
}

async function carryOut(work: Work): Promise<number> {
  const { options, out, settings, wishes, session, prepared, plan, progress, folder } = work
  const { kubeconfig, context: kubeContext } = prepared.cluster
  const where = kubeconfig === undefined ? {} : { kubeconfig, context: kubeContext }
  const helm = openHelm({ helm: options.helm, chart: options.chart, settings, ...where })
  const context = {
    ...prepared,
    wishes,
    session,
    helm,
    progress,
    settings,
    out,
    ca: settings.caFile === undefined ? undefined : readFileSync(settings.caFile, 'utf8'),
    demoImage: options.demoImage,
    wasBegun: progress.state.marks['create-agent']?.status === 'begun',
    token: undefined,
  }
  const report = reporter(session, progress.state.installationId, out)
  await runPlan({ plan, actions: installActions(context), progress, report, out })
  await report({ event: 'finished', status: 'success' })
  await finish(context)
  removeState(folder, progress.state)
  return 0
}

function chooseAsker({ yes, values, dryRun }: InitOptions, out: Printer): Asker {
  const isTerminal = process.stdin.isTTY === true && out.stderr.isTTY
  if (yes || values !== undefined) return silentAsker
  if (isTerminal) return terminalAsker()
  if (dryRun) return silentAsker
  throw fault('usage', {
    message: 'There is no terminal to ask on.',
    hint: 'Add --yes to take every default, or name a file with --values.',
  })
}

function refuseAppProxy({ appProxy, appProxyHost }: InitOptions): void {
  if (appProxy !== true && appProxyHost === undefined) return
  throw fault('usage', {
    message: 'This version has no App-Proxy to install.',
    hint: 'Leave --app-proxy out; nothing else depends on it.',
  })
}

function refuseInsecure({ installer }: Wishes): void {
  if (installer.insecure !== true) return
  throw fault('usage', {
    message: 'Certificates are always checked.',
    hint: 'Name the authority of your server with WINDLASS_CA_FILE; it is handed to everything that is installed.',
  })
}

interface Confirmation {
  readonly plan: readonly PlannedStep[]
  readonly prepared: Prepared
  readonly wishes: Wishes
  readonly session: Session
  readonly asker: Asker
  readonly out: Printer
}

async function confirm({ plan, prepared, wishes, session, asker, out }: Confirmation): Promise<void> {
  const { names, choices } = prepared
  const { proxy } = factsSummary(wishes)
  const rows = [
    ['Server', session.url],
    ['Kubernetes context', names.context],
    ['Namespace', names.namespace],
    ['Agent', names.agentName],
    ['Runtime environment', `${names.runtimeName}${choices.makeDefault ? ' (default)' : ''}`],
    ['Demo pipeline', { run: 'create and run', create: 'create', none: 'no' }[choices.demo]],
    ['Proxies', proxy],
  ]
  for (const [name = '', value = ''] of rows) if (value !== '') out.note(`${out.stderr.style.dim(name.padEnd(20))} ${value}`)
  if (asker.asks) {
    for (const line of markLines(plan, {})) out.note(`  ${line}`)
    if (!(await asker.yesNo('Go on?', true)))
      throw fault('usage', { message: 'Cancelled; nothing was changed.', hint: 'Call it again at any time.' })
  }
}

function factsSummary({ installer }: Wishes): { proxy: string } {
  const names = Object.keys(installer.EnvVars ?? {}).filter((name) => /_proxy$/i.test(name))
  return { proxy: names.join(', ') }
}

async function newState(from: { prepared: Prepared; session: Session; asked: string; wishes: Wishes }): Promise<InstallState> {
  const { names, choices } = from.prepared
  const { installer } = from.wishes
  const options = {
    namespace: names.namespace,
    storageBackend: installer.Storage?.Backend ?? 'local',
    helm: choices.helmValuesFile !== undefined,
    skipClusterTest: choices.skipTest,
    monitor: choices.monitor,
  }
  const record = await createInstallation(from.session.client, { name: names.runtimeName, options })
  return {
    ...names,
    url: from.session.url,
    makeDefault: choices.makeDefault,
    monitor: choices.monitor,
    demo: choices.demo,
    wishes: from.asked,
    installationId: record.id,
    startedAt: systemClock.now(),
    marks: {},
  }
}

function openProgress(folder: string, first: InstallState): Progress {
  let state = first
  saveState(folder, state)
  return {
    get state() {
      return state
    },
    update(changes) {
      state = { ...state, ...changes }
      saveState(folder, state)
    },
  }
}

/** Tells the server how far it is. An installation does not fail because that could not be told. */
function reporter(session: Session, id: string | undefined, out: Printer): (event: InstallationEventInput) => Promise<void> {
  return async (event) => {
    if (id === undefined) return
    await reportInstallation(session.client, id, event).catch((error: unknown) => {
      out.note(
        out.stderr.style.dim(
          `The server could not be told '${event.event}': ${error instanceof Error ? error.message : String(error)}`,
        ),
      )
    })
  }
}
