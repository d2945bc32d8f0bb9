/** An API server of Kubernetes that only stores objects: it knows no kinds, and applies merge patches of depth two. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { silentLog } from '@windlass/kit'
import { KubeObject, openKube, type Kube } from '@windlass/kube'

export interface ObjectApi extends AsyncDisposable {
  readonly kube: Kube
  /** Objects by path without the API group, such as `secrets/codefresh-token`. */
  readonly objects: Map<string, KubeObject>
  add(plural: string, object: KubeObject): void
}

/** Returns the name of the resource and of the object; undefined without a name. */
function readPath(path: string): { readonly plural: string; readonly name: string | undefined } {
  const [plural = '', name] = (path.split('/namespaces/ci/')[1] ?? '').split('/')
  return { plural, name }
}

const isSelected = ({ metadata: { labels = {} } }: KubeObject, selector: string | null): boolean =>
  (selector ?? '').split(',').every((term) => {
    const [label = '', value] = term.split('=')
    return label === '' || (value === undefined ? Object.hasOwn(labels, label) : labels[label] === value)
  })

/** Opens the server with the namespace `ci`. */
export async function openObjectApi(): Promise<ObjectApi> {
  const objects = new Map<string, KubeObject>()
  const add: ObjectApi['add'] = (plural, object) => void objects.set(`${plural}/${object.metadata.name}`, object)
  const answer = (method: string, url: URL, body: string): readonly [number, object] => {
    const { plural, name } = readPath(url.pathname)
    if (method === 'POST') {
      const object = KubeObject.parse(JSON.parse(body))
      if (objects.has(`${plural}/${object.metadata.name}`)) return [409, status(409, 'AlreadyExists')]
      add(plural, object)
      return [201, object]
    }
    if (name === undefined) {
      const selector = url.searchParams.get('labelSelector')
      const items = [...objects].filter(([key, object]) => key.startsWith(`${plural}/`) && isSelected(object, selector))
      return [
        200,
        { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '1' }, items: items.map(([, object]) => object) },
      ]
    }
    const found = objects.get(`${plural}/${name}`)
    if (found === undefined) return [404, status(404, 'NotFound')]
    if (method === 'DELETE') objects.delete(`${plural}/${name}`)
    if (method !== 'PATCH') return [200, found]
    const patch = JSON.parse(body)
    const annotations = { ...found.metadata.annotations, ...patch.metadata?.annotations }
    const old = found['data']
    const data = { ...(typeof old === 'object' ? old : {}), ...patch.data }
    add(plural, { ...found, metadata: { ...found.metadata, annotations }, data })
    return [200, found]
  }
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://cluster')
    const [code, object] = answer(request.method ?? '', url, await text(request))
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(object))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // The address of a TCP server is an object.
  const { port } = server.address() as AddressInfo
  const kube = openKube({ access: { server: `http://127.0.0.1:${port}`, insecure: false, namespace: 'ci' }, log: silentLog })
  return {
    kube,
    objects,
    add,
    async [Symbol.asyncDispose]() {
      kube.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function status(code: number, reason: string): object {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code, message: reason }
}
