/** Finds Helm and the chart. Nothing is downloaded. */
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { fault } from '@windlass/kit/faults'
import type { Settings } from '../../config.ts'

/** Returns the path of the Helm executable: `--helm`, WINDLASS_HELM, or from the PATH. Throws `file-not-found`. */
export function findHelm(given: string | undefined, { environment }: Settings): string {
  const named = given ?? environment['WINDLASS_HELM']
  const candidates =
    named !== undefined && named !== ''
      ? [resolve(named)]
      : (environment['PATH'] ?? '')
          .split(delimiter)
          .filter((folder) => folder !== '')
          .map((folder) => join(folder, 'helm'))
  const found = candidates.find(isProgram)
  if (found !== undefined) return found
  throw fault('file-not-found', {
    message: named === undefined || named === '' ? 'Helm is not on the PATH.' : `${named} is not an executable file.`,
    hint: 'Install Helm 3.8 or later (https://helm.sh), or set its path with --helm or WINDLASS_HELM.',
  })
}

/** The charts that commands install, and the variables that name another one. */
const CHARTS = { 'windlass-runtime': 'WINDLASS_CHART', 'windlass-gitops-runtime': 'WINDLASS_GITOPS_CHART' } as const
export type ChartName = keyof typeof CHARTS

/** Returns a chart: `--chart`, its variable, or the one bundled with this program. Throws `file-not-found`. */
export function findChart(given: string | undefined, { environment }: Settings, name: ChartName): string {
  const named = given ?? environment[CHARTS[name]]
  if (named !== undefined && named !== '') return named.startsWith('oci://') ? named : resolve(named)
  // Beside the bundle of this program, or in the repository of its sources.
  const bundled = ['..', '../../../../..'].map((parent) => resolve(import.meta.dirname, parent, 'charts', name))
  const found = bundled.find((folder) => existsSync(join(folder, 'Chart.yaml')))
  if (found !== undefined) return found
  throw fault('file-not-found', {
    message: `The chart ${name} is not bundled with this program.`,
    hint: 'Set it with --chart: a folder, an archive or an oci:// URL.',
  })
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
