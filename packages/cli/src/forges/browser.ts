/** The browser of the user. */
import { spawn } from 'node:child_process'

export type Environment = Readonly<Record<string, string | undefined>>

/** Returns the program that opens an address in a browser of this machine. Undefined if the machine has none that the user sees. */
export function browserProgram(platform: NodeJS.Platform, environment: Environment): readonly [string, ...string[]] | undefined {
  if (environment['SSH_CONNECTION'] !== undefined) return undefined
  if (platform === 'darwin') return ['open']
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  const hasScreen = environment['DISPLAY'] !== undefined || environment['WAYLAND_DISPLAY'] !== undefined
  return hasScreen ? ['xdg-open'] : undefined
}

/** Opens an address if there is a browser. A failure is ignored, because the user also sees the address. */
export function openBrowser(address: string, environment: Environment): void {
  const [program, ...args] = browserProgram(process.platform, environment) ?? []
  if (program === undefined) return
  const child = spawn(program, [...args, address], { stdio: 'ignore', detached: true })
  child.on('error', () => undefined)
  child.unref()
}
