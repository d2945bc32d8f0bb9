/** A git server over ssh for tests: serves `git-upload-pack` of local folders to clients with the key. */
import { spawn } from 'node:child_process'
import ssh2 from 'ssh2'
import { HOST } from './git-server.ts'

export interface SshServer extends AsyncDisposable {
  readonly port: number
  /** Line of `known_hosts` for containers. */
  readonly knownHosts: string
  /** The key that may log in. */
  readonly privateKey: string
  url(path: string): string
}

export async function startSshServer(): Promise<SshServer> {
  const hostKey = ssh2.utils.generateKeyPairSync('ed25519')
  const userKey = ssh2.utils.generateKeyPairSync('ed25519')
  const allowed = ssh2.utils.parseKey(userKey.public)
  if (allowed instanceof Error) throw allowed
  const server = new ssh2.Server({ hostKeys: [hostKey.private] }, (connection) => {
    connection.on('error', () => undefined)
    connection.on('authentication', (context) => {
      const isRight = context.method === 'publickey' && context.key.data.equals(allowed.getPublicSSH())
      if (!isRight) return context.reject(['publickey'])
      if (context.signature === undefined || context.blob === undefined) return context.accept()
      return allowed.verify(context.blob, context.signature, context.hashAlgo) === true ? context.accept() : context.reject()
    })
    connection.on('session', (accept) => {
      accept().on('exec', (acceptExec, _reject, { command }) => {
        const path = /^git-upload-pack '(.+)'$/.exec(command)?.[1] ?? ''
        const stream = acceptExec()
        const git = spawn('git', ['-c', 'safe.directory=*', 'upload-pack', path])
        stream.pipe(git.stdin)
        git.stdout.pipe(stream, { end: false })
        git.stderr.pipe(stream.stderr, { end: false })
        git.on('close', (code) => {
          stream.exit(code ?? 1)
          stream.end()
        })
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    port,
    knownHosts: `[${HOST}]:${port} ${hostKey.public.split(' ').slice(0, 2).join(' ')}`,
    privateKey: userKey.private,
    url: (path) => `ssh://git@${HOST}:${port}${path}`,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
