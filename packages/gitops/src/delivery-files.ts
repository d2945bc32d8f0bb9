/**
 * The files of a delivery pipeline: an event source, which the forge calls, a sensor, which starts a workflow for its events, and the template of this workflow. The fields are those of Argo Events
 * (https://argoproj.github.io/argo-events/APIs/) and Argo Workflows (https://argo-workflows.readthedocs.io/en/latest/fields/).
 */
import type { DeliveryEvent, DeliveryScript } from '@windlass/protocol'
import { toYaml } from './yaml.ts'

/** Forges whose calls an event source can check: Gitea sends a header with a token, and GitHub signs. */
export const DELIVERY_FORGES = ['gitea', 'github'] as const
export type DeliveryForge = (typeof DELIVERY_FORGES)[number]

/** Key of the Secret with what the forge shows to the event source. */
export const HOOK_SECRET_KEY = 'token'
/** Label of all objects of a pipeline. */
export const DELIVERY_LABEL = 'windlass.io/delivery-pipeline'
/** Name of the event in the event source. */
const EVENT = 'git'
const PORT = 12_000

export interface DeliveryPlan {
  readonly name: string
  /** Of the runtime. */
  readonly namespace: string
  readonly forge: DeliveryForge
  /** `owner/name`. */
  readonly repo: string
  /** URL for git. */
  readonly clone: string
  /** Undefined: any. */
  readonly branch: string | undefined
  readonly events: readonly DeliveryEvent[]
  readonly run: DeliveryScript | { readonly workflowTemplate: string }
  readonly serviceAccount: string | undefined
}

/** Path of the event source below the URL of the runtime. The router passes it on as it is. */
export function deliveryHookPath({ name, namespace }: Pick<DeliveryPlan, 'name' | 'namespace'>): string {
  return `/webhooks/${namespace}/${name}`
}

/** Name of the Secret that is not in Git. */
export function hookSecretName(name: string): string {
  return `${name}-webhook`
}

/** Returns the texts of the files by their names. */
export function deliveryFiles(plan: DeliveryPlan): ReadonlyMap<string, string> {
  const { name, run } = plan
  const template = 'workflowTemplate' in run ? [] : [[`${name}.workflow-template.yaml`, workflowTemplate(plan, run)] as const]
  const objects = [
    [`${name}.event-source.yaml`, eventSource(plan)] as const,
    [`${name}.sensor.yaml`, sensor(plan)] as const,
    ...template,
  ]
  return new Map(objects.map(([file, object]) => [file, toYaml(object)]))
}

function head(kind: string, name: string): object {
  return { apiVersion: 'argoproj.io/v1alpha1', kind, metadata: { name, labels: { [DELIVERY_LABEL]: name } } }
}

function eventSource(plan: DeliveryPlan): object {
  const { name, forge, repo, events } = plan
  const [owner = '', ...rest] = repo.split('/')
  const secret = { name: hookSecretName(name), key: HOOK_SECRET_KEY }
  const webhook = { port: String(PORT), endpoint: deliveryHookPath(plan), method: 'POST' }
  const source =
    forge === 'gitea'
      ? { webhook: { [EVENT]: { ...webhook, authSecret: secret } } }
      : {
          github: {
            [EVENT]: {
              repositories: [{ owner, names: [rest.join('/')] }],
              webhook,
              events: events.map((event) => EVENT_NAMES[event]),
              webhookSecret: secret,
              insecure: false,
              active: true,
              contentType: 'json',
            },
          },
        }
  // The router calls the Service at port 80.
  return { ...head('EventSource', name), spec: { service: { ports: [{ port: 80, targetPort: PORT }] }, ...source } }
}

/** As Gitea and GitHub name events. */
const EVENT_NAMES = { push: 'push', 'pull-request': 'pull_request' } as const satisfies Record<DeliveryEvent, string>
/** Where an event has the name of its kind. The two kinds of event sources spell the field in two ways. */
const EVENT_PATHS = { gitea: 'header.X-Gitea-Event.0', github: 'headers.X-Github-Event.0' } as const satisfies Record<
  DeliveryForge,
  string
>

function sensor(plan: DeliveryPlan): object {
  const { name, events, serviceAccount } = plan
  return {
    ...head('Sensor', name),
    spec: {
      ...(serviceAccount !== undefined && { template: { serviceAccountName: serviceAccount } }),
      dependencies: events.map((event) => ({
        name: event,
        eventSourceName: name,
        eventName: EVENT,
        filters: { data: filtersOf(plan, event) },
      })),
      triggers: events.map((event) => ({
        template: { name: `${name}-${event}`, conditions: event, argoWorkflow: trigger(plan, event) },
      })),
    },
  }
}

interface Filter {
  readonly path: string
  readonly type: 'string'
  readonly comparator?: '!='
  /** Regular expressions. */
  readonly value: readonly string[]
}

function filtersOf({ forge, repo, branch }: DeliveryPlan, event: DeliveryEvent): readonly Filter[] {
  const text = (path: string, value: string): Filter => ({ path, type: 'string', value: [value] })
  const kind = text(EVENT_PATHS[forge], `^${EVENT_NAMES[event]}$`)
  if (event === 'push')
    return [
      kind,
      text('body.repository.full_name', `^${literal(repo)}$`),
      text('body.ref', branch === undefined ? '^refs/heads/' : `^refs/heads/${literal(branch)}$`),
      // The deletion of a branch.
      { ...text('body.after', '^0+$'), comparator: '!=' },
    ]
  return [
    kind,
    text('body.action', '^(opened|reopened|synchronize|synchronized)$'),
    // Whoever opens a pull request from a fork must not run something here.
    text('body.pull_request.head.repo.full_name', `^${literal(repo)}$`),
    ...(branch === undefined ? [] : [text('body.pull_request.base.ref', `^${literal(branch)}$`)]),
  ]
}

/** Returns a regular expression of Go that matches a text only. */
function literal(text: string): string {
  return text.replaceAll(/[\\.+*?()|[\]{}^$]/g, String.raw`\$&`)
}

/** Where an event has what the workflow gets. */
const VALUES = {
  push: { branch: { dataTemplate: '{{ trimPrefix "refs/heads/" .Input.body.ref }}' }, revision: { dataKey: 'body.after' } },
  'pull-request': { branch: { dataKey: 'body.pull_request.head.ref' }, revision: { dataKey: 'body.pull_request.head.sha' } },
} as const satisfies Record<DeliveryEvent, object>

function trigger({ name, clone, run }: DeliveryPlan, event: DeliveryEvent): object {
  const template = 'workflowTemplate' in run ? run.workflowTemplate : name
  const { branch, revision } = VALUES[event]
  return {
    group: 'argoproj.io',
    version: 'v1alpha1',
    resource: 'workflows',
    operation: 'submit',
    source: {
      resource: {
        apiVersion: 'argoproj.io/v1alpha1',
        kind: 'Workflow',
        metadata: { generateName: `${name}-`, labels: { [DELIVERY_LABEL]: name } },
        spec: {
          arguments: {
            parameters: [
              { name: 'repository', value: clone },
              { name: 'branch', value: '' },
              { name: 'revision', value: '' },
            ],
          },
          workflowTemplateRef: { name: template },
        },
      },
    },
    parameters: [branch, revision].map((src, index) => ({
      src: { dependencyName: event, ...src },
      dest: `spec.arguments.parameters.${index + 1}.value`,
    })),
  }
}

/** Names of branches come from those who push, so the script gets them as variables, and not as a part of its text. */
function workflowTemplate({ name, clone }: DeliveryPlan, { image, script, gitSecret }: DeliveryScript): object {
  const parameter = (of: string): string => `{{workflow.parameters.${of}}}`
  const login = (key: string): object => ({ name: gitSecret, key })
  return {
    ...head('WorkflowTemplate', name),
    spec: {
      entrypoint: 'main',
      arguments: {
        parameters: [{ name: 'repository', value: clone }, { name: 'branch', value: '' }, { name: 'revision' }],
      },
      templates: [
        {
          name: 'main',
          inputs: {
            artifacts: [
              {
                name: 'source',
                path: '/workspace',
                git: {
                  repo: parameter('repository'),
                  revision: parameter('revision'),
                  ...(gitSecret !== undefined && { usernameSecret: login('username'), passwordSecret: login('password') }),
                },
              },
            ],
          },
          container: {
            image,
            workingDir: '/workspace',
            command: ['sh', '-ec'],
            args: [script],
            env: ['branch', 'revision'].map((of) => ({ name: of.toUpperCase(), value: parameter(of) })),
          },
        },
      ],
    },
  }
}
