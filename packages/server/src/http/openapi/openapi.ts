/** The OpenAPI 3.1 document, generated from the route table, so that the documented shapes are the validated ones. */
import { PAGE_HEADER, ProblemDocument, RIGHTS } from '@windlass/protocol'
import type { z } from 'zod'
import { isForUsers, isRight } from '../../identity/actor.ts'
import { isForSteps } from '../../identity/step-rights.ts'
import { VERSION } from '../../version.ts'
import { asRecord, openSchemas, type Json, type Schemas } from './openapi-schemas.ts'
import type { Route } from '../route.ts'
import { shareParameters } from './share-parameters.ts'

/** Returns the document of all routes. Shapes without a schema appear as free objects. */
export function toOpenApi(routes: readonly Route[]): Json {
  const schemas = openSchemas()
  const problem = schemas.toSchema(ProblemDocument, 'output')
  const operations = routes.map((route) => ({ ...route, operation: toOperation(route, schemas) }))
  const parameters = shareParameters(operations.map(({ operation }) => operation))
  const paths: Record<string, Json> = {}
  for (const { path, method, operation } of operations) paths[path] = { ...paths[path], [method.toLowerCase()]: operation }
  return {
    openapi: '3.1.0',
    info: { title: 'Windlass', version: VERSION, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    paths,
    components: {
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'windlass',
          description: `Session of a browser; \`__Host-windlass\` over TLS. Calls that change something need the header \`${PAGE_HEADER}\`.`,
        },
        token: {
          type: 'http',
          scheme: 'bearer',
          description:
            'API key, agent token, token of a GitOps runtime, or engine credential. A key with limited scopes needs the listed scope.',
        },
      },
      responses: { Problem: { description: 'Error', content: { 'application/problem+json': { schema: problem } } } },
      parameters,
      schemas: schemas.named(),
    },
  }
}

function toOperation({ method, path, spec }: Route, schemas: Schemas): Json {
  const parameters = [...toParameters(spec.params, 'path', schemas), ...toParameters(spec.query, 'query', schemas)]
  return {
    operationId: operationId(method, path),
    summary: spec.summary,
    tags: [path.split('/')[2] ?? 'server'],
    'x-windlass-allow': spec.allow,
    ...(isRight(spec.allow) && { 'x-windlass-role': RIGHTS[spec.allow].role }),
    ...(spec.project !== undefined && { 'x-windlass-project': true }),
    ...(isForSteps({ method, path }) && { 'x-windlass-steps': true }),
    security: toSecurity(spec),
    ...(parameters.length > 0 && { parameters }),
    ...((spec.body ?? spec.rawBody) !== undefined && { requestBody: { required: true, content: toBody(spec, schemas) } }),
    responses: {
      ...Object.fromEntries(Object.entries(spec.replies).map(([status, shape]) => [status, toResponse(shape, schemas)])),
      default: { $ref: '#/components/responses/Problem' },
    },
  }
}

/** Returns the credentials of a route: a token of the kind that `x-windlass-allow` names, or a session of a user. */
function toSecurity({ allow, scope }: Route['spec']): Json[] {
  if (allow === 'public') return []
  const scopes = scope === 'none' ? [] : [scope]
  return isForUsers(allow) ? [{ token: scopes }, { session: scopes }] : [{ token: scopes }]
}

function operationId(method: string, path: string): string {
  const words = path
    .replace('/v1/', '/')
    .split(/[/{}.-]+/)
    .filter((word) => word !== '')
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

function toParameters(schema: z.ZodType | undefined, place: 'path' | 'query', { toInlineSchema }: Schemas): Json[] {
  if (schema === undefined) return []
  const { properties, required } = toInlineSchema(schema, 'input')
  const needed = Array.isArray(required) ? required : []
  return Object.entries(asRecord(properties)).map(([name, shape]) => ({
    name,
    in: place,
    required: place === 'path' || needed.includes(name),
    schema: shape,
  }))
}

function toBody(spec: Route['spec'], { toSchema }: Schemas): Json {
  const raw = spec.rawBody?.map((type) => [type, { schema: { type: 'string', format: 'binary' } }] as const) ?? []
  const json = spec.body === undefined ? [] : [['application/json', { schema: toSchema(spec.body, 'input') }] as const]
  return Object.fromEntries([...raw, ...json])
}

function toResponse(shape: z.ZodType | 'text' | 'nothing', { toSchema }: Schemas): Json {
  if (shape === 'nothing') return { description: 'Done' }
  if (shape === 'text') return { description: 'OK', content: { 'text/plain': { schema: { type: 'string' } } } }
  return { description: 'OK', content: { 'application/json': { schema: toSchema(shape, 'output') } } }
}
