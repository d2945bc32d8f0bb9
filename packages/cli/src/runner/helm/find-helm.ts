/** Where Helm and the chart are. Nothing is ever downloaded. */
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { fault } from '@windlass/kit/faults'
import type { Settings } from '../../config.ts'

/** Path of the Helm program: `--helm`, WINDLASS_HELM, or the PATH. Throws `file-not-found`. */
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
    message: named === undefined || named === '' ? 'Helm is not on the PATH.' : `${named} is not a program.`,
    hint: 'Install Helm 3.8 or later (https://helm.sh), or name its program with --helm or WINDLASS_HELM.',
  })
}

/** Path or address of the chart of the Runner: `--chart`, WINDLASS_CHART, or the one beside this program. Throws `file-not-found`. */
export function findChart(given: string | undefined, { environment }: Settings): string {
  const named = given ?? environment['WINDLASS_CHART']
  if (named !== undefined && named !== '') return named.startsWith('oci://') ? named : resolve(named)
  const beside = resolve(import.meta.dirname, '../../../../../charts/windlass-runtime')
  if (existsSync(join(beside, 'Chart.yaml'))) return beside
  throw fault('file-not-found', {
    message: 'The chart windlass-runtime is not beside this program.',
    hint: 'Name it with --chart: a folder, an archive or an oci:// address.',
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
