/** OpenAPI 3.1 from the route table: what is documented is what is checked. */
import { ProblemDocument } from '@windlass/protocol'
import { z } from 'zod'
import { VERSION } from '../version.ts'
import type { Route } from './route.ts'

type Json = Record<string, unknown>

/** The document of all routes. Shapes that the plan's own code guards appear as free objects. */
export function toOpenApi(routes: readonly Route[]): Json {
  const paths: Record<string, Json> = {}
  for (const route of routes) paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: toOperation(route) }
  return {
    openapi: '3.1.0',
    info: { title: 'Windlass', version: VERSION, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'API key, agent token, or engine credential.' } },
      schemas: { Problem: toSchema(ProblemDocument, 'output') },
    },
  }
}

function toOperation({ method, path, spec }: Route): Json {
  const parameters = [...toParameters(spec.params, 'path'), ...toParameters(spec.query, 'query')]
  return {
    operationId: operationId(method, path),
    summary: spec.summary,
    tags: [path.split('/')[2] ?? 'server'],
    'x-windlass-allow': spec.allow,
    security: spec.allow === 'public' ? [] : [{ token: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(spec.body !== undefined && { requestBody: { required: true, content: toBody(spec) } }),
    responses: {
      ...Object.fromEntries(Object.entries(spec.replies).map(([status, shape]) => [status, toResponse(shape)])),
      default: {
        description: 'What went wrong',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  }
}

function operationId(method: string, path: string): string {
  const words = path
    .replace('/v1/', '/')
    .split(/[/{}.-]+/)
    .filter((word) => word !== '')
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

function toParameters(schema: z.ZodType | undefined, place: 'path' | 'query'): Json[] {
  if (schema === undefined) return []
  const { properties, required } = toSchema(schema, 'input')
  const needed = Array.isArray(required) ? required : []
  return Object.entries(asRecord(properties)).map(([name, shape]) => ({
    name,
    in: place,
    required: place === 'path' || needed.includes(name),
    schema: shape,
  }))
}

function toBody(spec: Route['spec']): Json {
  if (spec.takesBytes === true || spec.body === undefined)
    return { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } }
  return { 'application/json': { schema: toSchema(spec.body, 'input') } }
}

function toResponse(shape: z.ZodType | 'text' | 'nothing'): Json {
  if (shape === 'nothing') return { description: 'Done' }
  if (shape === 'text') return { description: 'OK', content: { 'text/plain': { schema: { type: 'string' } } } }
  return { description: 'OK', content: { 'application/json': { schema: toSchema(shape, 'output') } } }
}

function toSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...json } = asRecord(z.toJSONSchema(schema, { io, unrepresentable: 'any' }))
  return json
}

function asRecord(value: unknown): Json {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
