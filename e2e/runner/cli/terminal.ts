import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'

/** Runs a program on its own terminal (pty.fork), forwards typed input, and first prints the program's process id. */
const PTY = `
import os, pty, select, sys, fcntl, termios, struct
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 50, 160, 0, 0))
sys.stderr.write('%d\\n' % pid); sys.stderr.flush()
inputs = [fd, 0]
while True:
    ready, _, _ = select.select(inputs, [], [])
    if 0 in ready:
        typed = os.read(0, 1024)
        if not typed: inputs.remove(0)
        else: os.write(fd, typed)
    if fd in ready:
        try: said = os.read(fd, 65536)
        except OSError: break
        if not said: break
        os.write(1, said)
_, status = os.waitpid(pid, 0)
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
`

/** A program at a terminal, and its user. */
export type Terminal = {
  /** Returns the text shown so far, without colors. */
  shown(): string
  /** Returns everything that the terminal received so far. */
  received(): string
  /** Resolves once the terminal shows the text. Throws with the shown text on a timeout. */
  says(text: string, withinMs?: number): Promise<void>
  type(keys: string): void
  /** Sends SIGKILL to the program itself. */
  kill9(): void
  /** Exit code, or 128 plus the number of the signal that ended it. */
  readonly ended: Promise<number | null>
}

export function openTerminal(
  command: string,
  args: readonly string[],
  options: { env: NodeJS.ProcessEnv; cwd: string },
): Terminal {
  const child = spawn('python3', ['-c', PTY, command, ...args], { ...options, stdio: ['pipe', 'pipe', 'pipe'] })
  let text = ''
  let pid = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')))
  child.stderr.on('data', (chunk: Buffer) => (pid += chunk.toString('utf8')))
  child.stdin.on('error', () => undefined)
  const shown = (): string => stripVTControlCharacters(text)
  let isClosed = false
  child.once('close', () => (isClosed = true))
  return {
    shown,
    received: () => text,
    async says(wanted, withinMs = 60_000) {
      for (const end = performance.now() + withinMs; !shown().includes(wanted); await sleep(20))
        // The last output of a process arrives after its exit.
        if (performance.now() > end || isClosed) throw new Error(`expected '${wanted}', but got: ${shown()}`)
    },
    type: (keys) => void child.stdin.write(keys),
    kill9: () => void process.kill(Number(pid.split('\n')[0]), 'SIGKILL'),
    ended: once(child, 'close').then(([code]) => (typeof code === 'number' ? code : null)),
  }
}
