/** The command `runner init`: prompts, a plan, and its steps. An interrupted run continues where it stopped. */
import { readFileSync } from 'node:fs'
import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { APP_PROXY_SCOPES, DEMO_SCOPES, INSTALLER_SCOPES, type InstallationEventInput } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import type { Settings } from '../../config.ts'
import type { Printer } from '../../printer.ts'
import type { Session } from '../../session/session.ts'
import { appProxyUrlOf, wantsAppProxy } from '../app-proxy/address.ts'
import { openHelm } from '../helm/helm.ts'
import { logIn, requireScopes } from '../log-in.ts'
import { listNoEffect, proxyValuesOf } from '../values/chart-values.ts'
import { readInstallValues, type InstallValues } from '../values/install-values.ts'
import { withClusterUrl } from '../cluster-url.ts'
import { installActions } from './actions.ts'
import { chooseAppProxy } from './choose-app-proxy.ts'
import { defaultPrompter, terminalPrompter, type Prompter } from './prompter.ts'
import { detectProxies } from './detect-proxies.ts'
import { writeDryRun } from './dry-run.ts'
import { finish } from './finish.ts'
import { planInstallation, type PlannedStep } from './plan.ts'
import { prepare, type Prepared } from './prepare.ts'
import { findUnfinished } from './resume.ts'
import { runPlan, type Progress } from './run-plan.ts'
import { fingerprint, markLines, removeState, saveState, stateFolder, type InstallState } from './state.ts'
import type { InitOptions } from './options.ts'

/** Installs a Runner, or with `--dry-run` writes the manifests. Resolves to the exit code. */
export async function initRunner({ options, out, settings }: Invocation<InitOptions>): Promise<number> {
  const prompter = choosePrompter(options, out)
  const given = readInstallValues(options)
  for (const line of listNoEffect(given.installer)) out.note(`No effect: ${line}.`)
  refuseInsecure(given)
  const installValues = await chooseAppProxy(await detectProxies(given, prompter, settings), options, prompter)
  if (options.dryRun) return writeDryRun({ installValues, options, prompter, out, settings })
  const current = await logIn(
    {
      ...options,
      url: options.url ?? installValues.installer.CodefreshHost,
      token: options.token ?? installValues.installer.Token,
    },
    { settings, out },
  )
  await requireScopes(current, [
    ...INSTALLER_SCOPES,
    ...(options.execDemoPipeline === false ? [] : DEMO_SCOPES),
    ...(wantsAppProxy(installValues) ? APP_PROXY_SCOPES : []),
  ])
  const session = await withClusterUrl(current, out)
  const folder = stateFolder(settings.configFile)
  const asked = fingerprint([options.values, installValues, options.name, session.url, session.clusterUrl])
  const before = await findUnfinished({ folder, installValues, asked, prompter, out, startOver: options.startOver })
  const prepared = await prepare({ installValues, flags: options, prompter, settings, session, before })
  await using _cluster = prepared.cluster
  const plan = planInstallation(prepared.choices)
  await confirm({ plan, prepared, installValues, session, prompter, out })
  const progress = openProgress(folder, before ?? (await newState({ prepared, session, asked, installValues })))
  return runInstallation({ options, out, settings, installValues, session, prepared, plan, progress, folder })
}

interface InstallationRun {
  readonly options: InitOptions
  readonly out: Printer
  readonly settings: Settings
  readonly installValues: InstallValues
  readonly session: Session
  readonly prepared: Prepared
  readonly plan: readonly PlannedStep[]
  readonly progress: Progress
  readonly folder: string
}

async function runInstallation(run: InstallationRun): Promise<number> {
  const { options, out, settings, installValues, session, prepared, plan, progress, folder } = run
  const { kubeconfig, context: kubeContext } = prepared.cluster
  const where = kubeconfig === undefined ? {} : { kubeconfig, context: kubeContext }
  const helm = openHelm({ helm: options.helm, chart: options.chart, settings, ...where })
  const context = {
    ...prepared,
    installValues,
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

function choosePrompter({ yes, values, dryRun }: InitOptions, out: Printer): Prompter {
  const isTerminal = process.stdin.isTTY === true && out.stderr.isTTY
  if (yes || values !== undefined) return defaultPrompter
  if (isTerminal) return terminalPrompter()
  if (dryRun) return defaultPrompter
  throw fault('usage', {
    message: 'Cannot prompt without a terminal.',
    hint: 'Add --yes to accept all defaults, or a file with --values.',
  })
}

function refuseInsecure({ installer }: InstallValues): void {
  if (installer.insecure !== true) return
  throw fault('usage', {
    message: 'Certificate verification cannot be turned off.',
    hint: 'Set WINDLASS_CA_FILE to the CA of your server; it is passed to all installed components.',
  })
}

interface Confirmation {
  readonly plan: readonly PlannedStep[]
  readonly prepared: Prepared
  readonly installValues: InstallValues
  readonly session: Session
  readonly prompter: Prompter
  readonly out: Printer
}

async function confirm({ plan, prepared, installValues, session, prompter, out }: Confirmation): Promise<void> {
  const { names, choices } = prepared
  const { proxy } = factsSummary(installValues)
  const rows = [
    ['Server', session.url],
    ['Server for the cluster', session.clusterUrl === session.url ? '' : (session.clusterUrl ?? '')],
    ['Kubernetes context', names.context],
    ['Namespace', names.namespace],
    ['Agent', names.agentName],
    ['Runtime environment', `${names.runtimeName}${choices.makeDefault ? ' (default)' : ''}`],
    ['Demo pipeline', { run: 'create and run', create: 'create', none: 'no' }[choices.demo]],
    ['App-proxy', choices.appProxy ? (appProxyUrlOf(proxyValuesOf(installValues)) ?? '') : ''],
    ['Proxies', proxy],
  ]
  for (const [name = '', value = ''] of rows) if (value !== '') out.note(`${out.stderr.style.dim(name.padEnd(22))} ${value}`)
  if (prompter.isInteractive) {
    for (const line of markLines(plan, {})) out.note(`  ${line}`)
    if (!(await prompter.confirm('Continue?', true)))
      throw fault('usage', { message: 'Canceled; nothing was changed.', hint: 'Run the command again at any time.' })
  }
}

function factsSummary({ installer }: InstallValues): { proxy: string } {
  const names = Object.keys(installer.EnvVars ?? {}).filter((name) => /_proxy$/i.test(name))
  return { proxy: names.join(', ') }
}

async function newState(from: {
  prepared: Prepared
  session: Session
  asked: string
  installValues: InstallValues
}): Promise<InstallState> {
  const { names, choices } = from.prepared
  const { installer } = from.installValues
  const options = {
    namespace: names.namespace,
    storageBackend: installer.Storage?.Backend ?? 'local',
    helm: choices.helmValuesFile !== undefined,
    skipClusterTest: choices.skipTest,
    monitor: choices.monitor,
  }
  const record = await from.session.client.installations.create({ name: names.runtimeName, options })
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

/** Reports the progress to the server. A failed report does not fail the installation. */
function reporter(session: Session, id: string | undefined, out: Printer): (event: InstallationEventInput) => Promise<void> {
  return async (event) => {
    if (id === undefined) return
    await session.client.installations.report(id, event).catch((error: unknown) => {
      out.note(
        out.stderr.style.dim(
          `Could not report "${event.event}" to the server: ${error instanceof Error ? error.message : String(error)}`,
        ),
      )
    })
  }
}
