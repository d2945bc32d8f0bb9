/** The ID of this manager, by which GitLab tells the managers of one runner apart. */
import { createHmac, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { hasCode, writePrivateFile } from '@windlass/kit'

const FILE = '.runner_system_id'
/** Name of the file that the original uses. Its system ID is in `FILE`. */
const USUAL_CONFIG = 'config.toml'
const FORM = /^[sr]_[0-9a-zA-Z]{12}$/

/**
 * Returns the system ID of the manager with this configuration file, and keeps it beside that file: for `config.toml` where the original has it. Each file of a
 * machine has its own ID, the same one each time. Pods, which share the identity of a machine or have none, get a random one. Throws system errors if the file cannot be
 * written.
 */
export function systemIdFor(
  configFile: string,
  env: Readonly<Record<string, string | undefined>>,
  machineIdFile = '/etc/machine-id',
): string {
  const name = basename(configFile)
  const file = join(dirname(configFile), name === USUAL_CONFIG ? FILE : `.${name}${FILE}`)
  const kept = readText(file)
  if (kept !== undefined && FORM.test(kept)) return kept
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const machineId = env['KUBERNETES_SERVICE_HOST'] === undefined ? readText(machineIdFile) : undefined
  const path = join(realpathSync(dirname(configFile)), name)
  const id =
    machineId === undefined || machineId === ''
      ? `r_${randomBytes(9).toString('hex').slice(0, 12)}`
      : // The identity of the machine itself is not told to others.
        `s_${createHmac('sha256', machineId).update(`windlass-gitlab-runner ${path}`).digest('hex').slice(0, 12)}`
  writePrivateFile(file, `${id}\n`, { replace: kept !== undefined })
  // Another process may have written the file first.
  return readText(file) ?? id
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'EACCES')) return undefined
    throw error
  }
}
