/** The workflow that reports images, as the chart has it: its tasks run with real Secrets, registry and server, and the controller of Argo Workflows is played. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Kube, KubeObject } from '@windlass/kube'
import { z } from 'zod'
import { openHelm } from '../../support/helm.ts'

const Parameters = z.array(z.object({ name: z.string(), value: z.string().optional() }))
const Template = z.looseObject({
  spec: z.looseObject({
    arguments: z.object({ parameters: Parameters }),
    volumes: z.array(
      z.looseObject({
        name: z.string(),
        secret: z
          .looseObject({
            secretName: z.string(),
            optional: z.boolean().default(false),
            items: z.array(z.object({ key: z.string(), path: z.string() })).optional(),
          })
          .optional(),
      }),
    ),
    templates: z.array(
      z.looseObject({
        name: z.string(),
        dag: z
          .object({ tasks: z.array(z.looseObject({ template: z.string(), dependencies: z.array(z.string()).default([]) })) })
          .optional(),
        container: z.looseObject({ command: z.array(z.string()), args: z.array(z.string()) }).optional(),
      }),
    ),
  }),
})
const Submitted = z.looseObject({ spec: z.looseObject({ arguments: z.object({ parameters: Parameters }) }) })

/** Returns the WorkflowTemplate of the chart for a namespace. */
export async function renderImageTemplate(namespace: string, values: object): Promise<KubeObject> {
  const helm = await openHelm()
  try {
    const found = (await helm.template('windlass-gitops-runtime', values)).find(({ kind }) => kind === 'WorkflowTemplate')
    if (found === undefined) throw new Error('the chart has no WorkflowTemplate')
    return { ...found, metadata: { ...found.metadata, namespace } }
  } finally {
    await helm.close()
  }
}

export interface Played {
  readonly kube: Kube
  readonly namespace: string
  readonly template: KubeObject
  readonly workflow: KubeObject
  /** Runs a command line of windlass. Resolves to its exit code and output. */
  readonly run: (words: readonly string[]) => Promise<{ readonly code: number; readonly text: string }>
}

/** Runs the tasks of a workflow in their order, each with the parameters and the Secrets of the workflow. Returns the output of each task. */
export async function playTasks({ kube, namespace, template, workflow, run }: Played): Promise<ReadonlyMap<string, string>> {
  const { spec } = Template.parse(template)
  const given = Submitted.parse(workflow).spec.arguments.parameters
  const parameters = new Map([...spec.arguments.parameters, ...given].map(({ name, value }) => [name, value]))
  const folder = await mkdtemp(join(tmpdir(), 'windlass-image-workflow-'))
  let reference = ''
  const fill = (text: string): string =>
    text
      .replaceAll(/\{\{workflow\.parameters\.([\w-]+)\}\}/g, (_, name: string) => parameters.get(name) ?? `no ${name}`)
      .replaceAll('{{inputs.parameters.reference}}', reference)
      // In this order, because the folder is one in /tmp.
      .replaceAll('/tmp/', `${folder}/tmp/`)
      .replaceAll('/etc/windlass/', `${folder}/`)
  try {
    for (const { name, secret } of spec.volumes) {
      await mkdir(join(folder, name))
      if (secret === undefined) continue
      const found = await kube.find({ kind: 'Secret', namespace, name: fill(secret.secretName) })
      if (found === undefined && !secret.optional) throw new Error(`there is no Secret ${fill(secret.secretName)}`)
      const data = z.record(z.string(), z.string()).default({}).parse(found?.['data'])
      const items = secret.items ?? Object.keys(data).map((key) => ({ key, path: key }))
      for (const { key, path } of items)
        if (data[key] !== undefined) await writeFile(join(folder, name, path), Buffer.from(data[key], 'base64'))
    }
    const outputs = new Map<string, string>()
    const [dag] = spec.templates.flatMap((one) => one.dag ?? [])
    for (const task of dag?.tasks ?? []) {
      if (task.dependencies.some((name) => !outputs.has(name))) throw new Error(`${task.template} runs too early`)
      const { container } = spec.templates.find(({ name }) => name === task.template) ?? {}
      const { code, text } = await run((container?.args ?? []).map(fill))
      outputs.set(task.template, text)
      if (code !== 0) throw new Error(`${task.template} ended with ${code}: ${text}`)
      reference = (await readFile(join(folder, 'tmp/reference'), 'utf8')).trim()
    }
    return outputs
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A Jira with one issue, which wants a login. */
export async function startJira(issue: object, authorization: string): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    const isKnown = request.headers.authorization === authorization
    const isThere = request.url?.startsWith('/jira/rest/api/2/issue/SHOP-12?') === true
    response.writeHead(isKnown ? (isThere ? 200 : 404) : 401, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isKnown && isThere ? issue : { errorMessages: ['no'] }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/jira`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Returns the events of an SSE stream, one after the other. */
export async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<readonly [event: string, data: string]> {
  let rest = ''
  for await (const part of body) {
    rest += Buffer.from(part).toString('utf8')
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const block = rest.slice(0, end)
      rest = rest.slice(end + 2)
      yield [/^event: (.*)$/m.exec(block)?.[1] ?? '', /^data: (.*)$/m.exec(block)?.[1] ?? '']
    }
  }
}
