/** Starting the browser of the desktop. */
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { writePrivateFile } from '@windlass/kit'
import type { Settings } from '../../config.ts'

/** File that leads the browser to the link. Its name contains no secret, unlike the link: other users can read command lines. */
const FILE = 'open.html'

/**
 * Opens the link in the browser of the desktop. Returns false if there is none. The browser gets the path of a file that only the user can read. The file
 * leads to the link, whose code works once.
 */
export async function startBrowser(
  link: string,
  { configFile, environment }: Pick<Settings, 'configFile' | 'environment'>,
): Promise<boolean> {
  const program = opener(environment)
  if (program === undefined) return false
  const file = join(dirname(configFile), FILE)
  writePrivateFile(file, redirectTo(link), { replace: true })
  const child = spawn(program, [file], { detached: true, stdio: 'ignore', env: { ...environment } })
  const { promise, resolve } = Promise.withResolvers<boolean>()
  child.once('spawn', () => resolve(true))
  child.once('error', () => resolve(false))
  child.unref()
  return promise
}

/** Returns the program that opens files; undefined without a desktop. */
function opener(environment: Settings['environment']): string | undefined {
  if (process.platform === 'darwin') return 'open'
  const hasDesktop = [environment['DISPLAY'], environment['WAYLAND_DISPLAY']].some((value) => value !== undefined && value !== '')
  return hasDesktop ? 'xdg-open' : undefined
}

function redirectTo(link: string): string {
  const address = link.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
  return `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${address}">\n`
}
