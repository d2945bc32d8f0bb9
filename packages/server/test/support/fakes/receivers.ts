/** Receivers of notifications: an HTTP server that records calls, and a real SMTP server. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { systemClock } from '@windlass/kit'
import { issueCertificates } from '@windlass/manifests'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

/** Networks of the receivers, for servers that may call them. */
export const LOOPBACK = { outboundNetworks: ['127.0.0.0/8'] }

export interface HookCall {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Hook extends AsyncDisposable {
  readonly url: string
  readonly calls: HookCall[]
  /** Status and headers of the next answers. Default: 200. */
  answers: { readonly status: number; readonly headers?: Record<string, string> }[]
}

export async function openHook(): Promise<Hook> {
  const calls: HookCall[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      calls.push({ path: request.url ?? '', headers: request.headers, body })
      const { status, headers } = hook.answers.shift() ?? { status: 200 }
      response.writeHead(status, headers).end('ok')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const hook: Hook = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/s3cret-path`,
    calls,
    answers: [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return hook
}

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** Headers and body as they were sent. */
  readonly text: string
  readonly isEncrypted: boolean
  /** Name of the login. */
  readonly user: string | undefined
}

export interface MailReceiver extends AsyncDisposable {
  readonly port: number
  readonly ca: string
  readonly mails: ReceivedMail[]
  /** SMTP codes with which the next recipients are refused. */
  refusals: number[]
}

export interface MailReceiverOptions {
  /** Default: `starttls`. */
  readonly security?: 'starttls' | 'tls' | 'none'
  /** Requires this login. */
  readonly login?: { readonly username: string; readonly password: string }
}

/** Opens an SMTP server with a certificate of a private CA for 127.0.0.1. */
export async function openMailReceiver({ security = 'starttls', login }: MailReceiverOptions = {}): Promise<MailReceiver> {
  const { ca, serverCert: cert, serverKey: key } = issueCertificates({ now: systemClock.now(), validMs: 3_600_000 })
  const mails: ReceivedMail[] = []
  const options: SMTPServerOptions = {
    logger: false,
    secure: security === 'tls',
    cert,
    key,
    authOptional: login === undefined,
    disabledCommands: [...(security === 'none' ? ['STARTTLS'] : []), ...(login === undefined ? ['AUTH'] : [])],
    onAuth({ username, password }, _session, done) {
      if (username === login?.username && password === login?.password) done(null, { user: username })
      else done(new Error('wrong login'))
    },
    onRcptTo(_address, _session, done) {
      const code = receiver.refusals.shift()
      done(code === undefined ? null : Object.assign(new Error('no such mailbox'), { responseCode: code }))
    },
    onData(stream, session, done) {
      const { mailFrom, rcptTo } = session.envelope
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => {
        mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(parts).toString(),
          isEncrypted: session.secure,
          user: typeof session.user === 'string' ? session.user : undefined,
        })
        done(null)
      })
    },
  }
  const server = new SMTPServer(options)
  server.on('error', () => undefined)
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const receiver: MailReceiver = {
    port: (listening.address() as AddressInfo).port,
    ca,
    mails,
    refusals: [],
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
  return receiver
}
