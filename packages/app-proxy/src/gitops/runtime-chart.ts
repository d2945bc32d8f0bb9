/** The chart of a runtime in the shared configuration repository: Argo CD installs it, and a new version is a commit. */
import {
  chartApplicationFile,
  chartApplicationPath,
  chartFile,
  chartFolder,
  chartValuesFile,
  editChart,
  readChart,
  type RuntimePlace,
} from '@windlass/gitops'
import { fault } from '@windlass/kit'
import type { RuntimeChart, RuntimeChartChange, RuntimeChartInput } from '@windlass/protocol'
import type { RepositoryView } from './repository-view.ts'
import { foreignFile, requireRuntime } from './shared-configuration.ts'
import type { Plan, RepositoryBranch } from './repository-branch.ts'
import type { SharedRepositories } from './shared-repository.ts'
import type { GitopsCall } from './user-repositories.ts'

export interface RuntimeCharts {
  /** Throws `not-found` if the repository has no chart of the runtime. */
  show(call: GitopsCall): Promise<RuntimeChart>
  /** Writes the chart, or another version of it. Files that people have changed keep their changes. Throws `request-invalid` for a first chart without its URL. */
  set(call: GitopsCall, input: RuntimeChartInput): Promise<RuntimeChartChange>
}

export function openRuntimeCharts({
  shared,
  place,
}: {
  readonly shared: SharedRepositories
  readonly place: RuntimePlace
}): RuntimeCharts {
  const { runtime } = place

  return {
    async show(call) {
      const view = await (await shared.open(call)).view()
      const text = await view.read(`${requireFolder(runtime)}/Chart.yaml`)
      const chart = text === undefined ? undefined : readChart(text)
      if (chart !== undefined) return chart
      throw fault('not-found', {
        message: `The shared configuration repository has no chart of the GitOps runtime "${runtime}".`,
        hint: `Write it with \`windlass gitops chart set ${runtime} --chart URL --version VERSION\`.`,
      })
    },
    async set(call, input) {
      requireOwn(place)
      const repository = await shared.open(call)
      const { commit, result } = await repository.change((view) => planChart(view, { repository, place, input }))
      return { chart: result, commit }
    },
  }
}

interface ChartPlan {
  readonly repository: RepositoryBranch
  readonly place: RuntimePlace
  readonly input: RuntimeChartInput
}

async function planChart(view: RepositoryView, { repository, place, input }: ChartPlan): Promise<Plan<RuntimeChart>> {
  const { runtime } = place
  await requireRuntime(view, runtime)
  const folder = requireFolder(runtime)
  const path = `${folder}/Chart.yaml`
  const before = await view.read(path)
  const known = before === undefined ? undefined : readChart(before)
  const chart = input.chart ?? known?.chart
  if (chart === undefined)
    throw fault('request-invalid', { message: 'The chart is missing.', hint: 'Name it: oci://HOST/PATH/NAME.' })
  const wanted = { chart, version: input.version }
  const files = new Map<string, string>()
  const text = before === undefined ? chartFile(wanted, runtime) : editChart(before, wanted)
  if (text === undefined) throw foreignFile(path)
  if (text !== before) files.set(path, text)
  const valuesPath = `${folder}/values.yaml`
  if (input.values !== undefined || (await view.read(valuesPath)) === undefined)
    files.set(valuesPath, chartValuesFile(chart, input.values ?? {}))
  const application = chartApplicationPath(runtime)
  if ((await view.read(application)) === undefined) files.set(application, chartApplicationFile(repository.place, place, folder))
  const message = input.message ?? `Set the chart of the GitOps runtime ${runtime} to ${input.version}`
  return { message, files, result: wanted }
}

/** Throws `not-supported` for a hosted runtime: whoever writes to the repository would choose its rights. */
function requireOwn({ runtime, isHosted }: RuntimePlace): void {
  if (isHosted !== true) return
  throw fault('not-supported', {
    message: `The GitOps runtime "${runtime}" is hosted, so its chart is not installed from the repository of the account.`,
    hint: 'The operator of the platform upgrades it with `windlass gitops upgrade`.',
  })
}

/** Throws `request-invalid` for a runtime whose name is that of another folder. */
function requireFolder(runtime: string): string {
  const folder = chartFolder(runtime)
  if (folder !== undefined) return folder
  throw fault('request-invalid', {
    message: `A runtime with the name "${runtime}" cannot have a chart in the repository: a folder of all runtimes has this name.`,
    hint: 'Upgrade the runtime with Helm.',
  })
}
