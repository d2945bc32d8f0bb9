/** Rights per route. The table deliberately duplicates the routes, so that the rights of each new or changed route are reviewed. */

/** Kinds of callers. `session` is a browser that acts for an admin, `user` one that acts for a user with the role developer. `parent` means the steps of the build that started the build in the path. */
export const CALLERS = [
  'nobody',
  'viewer',
  'developer',
  'maintainer',
  'admin',
  'session',
  'user',
  'agent',
  'gitops runtime',
  'bootstrap',
  'attempt',
  'ended attempt',
  'ended bootstrap',
  'steps',
  'parent',
] as const
export type Caller = (typeof CALLERS)[number]

/** Callers by the value of the third column. */
export const WHO: Readonly<Record<string, readonly Caller[]>> = {
  anyone: [
    'nobody',
    'viewer',
    'developer',
    'maintainer',
    'admin',
    'session',
    'user',
    'agent',
    'gitops runtime',
    'bootstrap',
    'attempt',
    'steps',
    'parent',
  ],
  viewer: ['viewer', 'developer', 'maintainer', 'admin', 'session', 'user'],
  developer: ['developer', 'maintainer', 'admin', 'session', 'user'],
  maintainer: ['maintainer', 'admin', 'session'],
  admin: ['admin', 'session'],
  // Only with the key itself.
  key: ['viewer', 'developer', 'maintainer', 'admin'],
  runner: ['admin', 'session', 'agent'],
  agent: ['agent'],
  'gitops-runtime': ['gitops runtime'],
  'image-reporter': ['developer', 'maintainer', 'admin', 'session', 'user', 'gitops runtime'],
  // What they may do depends on the fields of the request.
  graphql: ['viewer', 'developer', 'maintainer', 'admin', 'session', 'user', 'gitops runtime'],
  bootstrap: ['bootstrap'],
  attempt: ['attempt'],
  'any-attempt': ['attempt', 'ended attempt'],
}

/** Additional callers by the value of the fifth column. */
export const STEPS: Readonly<Record<string, readonly Caller[]>> = { steps: ['steps', 'parent'], parent: ['parent'] }

export interface Right {
  readonly callers: readonly Caller[]
  /** Scope that a limited key needs. Undefined if any key of the role may call. */
  readonly scope: string | undefined
}

/** Returns method and path -> rights. */
export function readRights(): Map<string, Right> {
  return new Map(
    TABLE.trim()
      .split('\n')
      .map((line) => {
        const [method = '', path = '', who = '', scope = '', steps = ''] = line.split(/ +/)
        const callers = [...(WHO[who] ?? []), ...(STEPS[steps] ?? [])]
        return [`${method} ${path}`, { callers, scope: scope === '-' ? undefined : scope }]
      }),
  )
}

/** Columns: method, path, callers, scope, steps of builds (CF_API_KEY). */
const TABLE = `
GET    /healthz                                                              anyone      -
GET    /readyz                                                               anyone      -
GET    /metrics                                                              viewer      account:read
GET    /v1/status                                                            anyone      -
POST   /v1/bootstrap                                                         anyone      -
POST   /v1/sessions                                                          anyone      -
POST   /v1/sessions/codes                                                    key         -
POST   /v1/builds/{id}/links                                                 developer   build:write
POST   /v1/pipelines/{name}/badge-links                                      developer   build:write
GET    /v1/links                                                             developer   build:read
DELETE /v1/links/{id}                                                        developer   build:write
GET    /v1/shared/builds/{id}                                                anyone      -
GET    /v1/shared/builds/{id}/log                                            anyone      -
GET    /badges/{name}                                                        anyone      -
GET    /badges/{project}/{name}                                              anyone      -
GET    /api/badges/pipeline/{account}/{name}                                 anyone      -
GET    /.well-known/openid-configuration                                      anyone      -
GET    /.well-known/jwks.json                                                 anyone      -
GET    /v1/oidc/token                                                         attempt     -                  steps
GET    /v1/sessions/oidc                                                     anyone      -
GET    /v1/sessions/oidc/callback                                            anyone      -
GET    /v1/sessions                                                          viewer      key:read
GET    /v1/sessions/current                                                  viewer      -
DELETE /v1/sessions/current                                                  viewer      -
DELETE /v1/sessions                                                          viewer      key:write
DELETE /v1/sessions/{id}                                                     viewer      key:write
GET    /v1/whoami                                                            viewer      -                  steps
GET    /v1/keys                                                              viewer      key:read
POST   /v1/keys                                                              viewer      key:write
DELETE /v1/keys/{name}                                                       viewer      key:write
GET    /v1/users                                                             maintainer  user:read
POST   /v1/users                                                             admin       user:write
GET    /v1/users/{name}                                                      maintainer  user:read
PATCH  /v1/users/{name}                                                      admin       user:write
DELETE /v1/users/{name}                                                      admin       user:write
POST   /v1/users/{name}/invitation                                           admin       user:write
PUT    /v1/users/{name}/projects/{project}                                   admin       user:write
DELETE /v1/users/{name}/projects/{project}                                   admin       user:write
PUT    /v1/users/{name}/pipelines/{pipeline}                                 admin       user:write
DELETE /v1/users/{name}/pipelines/{pipeline}                                 admin       user:write
GET    /v1/teams                                                             maintainer  user:read
POST   /v1/teams                                                             admin       user:write
GET    /v1/teams/{name}                                                      maintainer  user:read
PATCH  /v1/teams/{name}                                                      admin       user:write
DELETE /v1/teams/{name}                                                      admin       user:write
PUT    /v1/teams/{name}/members/{user}                                       admin       user:write
DELETE /v1/teams/{name}/members/{user}                                       admin       user:write
POST   /v1/invitations/accept                                                anyone      -
PUT    /v1/password                                                          viewer      key:write
POST   /v1/device-codes                                                      anyone      -
POST   /v1/device-codes/key                                                  anyone      -
GET    /v1/device-codes/{code}                                               viewer      key:write
POST   /v1/device-codes/{code}/approve                                       viewer      key:write
POST   /v1/device-codes/{code}/deny                                          viewer      key:write
GET    /v1/audit                                                             admin       audit:read
GET    /v1/audit/chain                                                       admin       audit:read
GET    /v1/pipelines                                                         viewer      pipeline:read      steps
POST   /v1/pipelines                                                         developer   pipeline:write
GET    /v1/pipelines/{name}                                                  viewer      pipeline:read      steps
PUT    /v1/pipelines/{name}                                                  developer   pipeline:write
GET    /v1/pipelines/{name}/stats                                            viewer      build:read
DELETE /v1/pipelines/{name}                                                  developer   pipeline:write
GET    /v1/session/preferences                                               viewer      -
PUT    /v1/session/preferences                                               viewer      key:write
GET    /v1/views                                                             viewer      build:read
POST   /v1/views                                                             maintainer  account:write
PUT    /v1/views/{view}                                                      maintainer  account:write
DELETE /v1/views/{view}                                                      maintainer  account:write
GET    /v1/pipelines/{name}/branches                                         viewer      build:read
GET    /v1/pipelines/{name}/versions                                         viewer      pipeline:read
GET    /v1/pipelines/{name}/versions/{version}                               viewer      pipeline:read
GET    /v1/pipelines/{name}/versions/{version}/diff                          viewer      pipeline:read
POST   /v1/pipelines/{name}/versions/{version}/restore                       developer   pipeline:write
POST   /v1/validate                                                          viewer      pipeline:read
GET    /v1/projects                                                          viewer      pipeline:read
POST   /v1/projects                                                          maintainer  pipeline:write
GET    /v1/projects/{name}                                                   viewer      pipeline:read
PUT    /v1/projects/{name}                                                   maintainer  pipeline:write
PUT    /v1/projects/{name}/quotas                                            admin       account:write
DELETE /v1/projects/{name}                                                   maintainer  pipeline:write
GET    /v1/step-types                                                        viewer      pipeline:read
POST   /v1/step-types                                                        developer   pipeline:write
GET    /v1/step-types/{name}                                                 viewer      pipeline:read
PUT    /v1/step-types/{name}                                                 developer   pipeline:write
GET    /v1/step-types/{name}/versions                                        viewer      pipeline:read
DELETE /v1/step-types/{name}                                                 developer   pipeline:write
GET    /v1/contexts                                                          viewer      context:read
POST   /v1/contexts                                                          maintainer  context:write
GET    /v1/contexts/{name}                                                   viewer      context:read
PUT    /v1/contexts/{name}                                                   maintainer  context:write
DELETE /v1/contexts/{name}                                                   maintainer  context:write
GET    /v1/contexts/{name}/checks                                            viewer      context:read
POST   /v1/contexts/{name}/check                                             maintainer  context:write
GET    /v1/agents                                                            viewer      agent:read
POST   /v1/agents                                                            admin       agent:write
GET    /v1/agents/{name}                                                     viewer      agent:read
PUT    /v1/agents/{name}                                                     admin       agent:write
PATCH  /v1/agents/{name}                                                     admin       agent:write
GET    /v1/agents/{name}/checks                                              viewer      agent:read
POST   /v1/agents/{name}/checks                                              admin       agent:write
PUT    /v1/agents/{name}/checks                                              admin       agent:write
GET    /v1/disks                                                             viewer      runtime:read
DELETE /v1/disks/{id}                                                        admin       runtime:write
POST   /v1/agents/{name}/token                                               admin       agent:write
DELETE /v1/agents/{name}                                                     admin       agent:write
GET    /v1/agent                                                             agent       -
GET    /v1/clusters                                                          viewer      cluster:read
POST   /v1/clusters                                                          admin       cluster:write
GET    /v1/clusters/{name}                                                   viewer      cluster:read
DELETE /v1/clusters/{name}                                                   admin       cluster:write
POST   /v1/certificates                                                      runner      certificate:write
POST   /v1/installations                                                     admin       installation:write
GET    /v1/installations                                                     viewer      installation:read
GET    /v1/installations/{id}                                                viewer      installation:read
POST   /v1/installations/{id}/events                                         admin       installation:write
GET    /v1/runtimes                                                          viewer      runtime:read
POST   /v1/runtimes                                                          admin       runtime:write
GET    /v1/runtimes/{name}                                                   viewer      runtime:read
PUT    /v1/runtimes/{name}                                                   admin       runtime:write
DELETE /v1/runtimes/{name}                                                   admin       runtime:write
POST   /v1/runtimes/{name}/default                                           admin       runtime:write
GET    /v1/runtimes/{name}/versions                                          viewer      runtime:read
GET    /v1/runtimes/{name}/diff                                              viewer      runtime:read
GET    /v1/runtimes/{name}/images                                            viewer      runtime:read
GET    /v1/runtime-bases                                                     admin       runtime:read
GET    /v1/runtime-bases/{name}                                              admin       runtime:read
PUT    /v1/runtime-bases/{name}                                              admin       runtime:write
DELETE /v1/runtime-bases/{name}                                              admin       runtime:write
POST   /v1/builds                                                            developer   build:write        steps
POST   /v1/builds/{id}/restart                                               developer   build:write
POST   /v1/builds/{id}/terminate                                             developer   build:write        parent
POST   /v1/builds/{id}/attempts/{attempt}/confirm-gone                       admin       build:write
POST   /v1/builds/{id}/approve                                               developer   build:write
POST   /v1/builds/{id}/deny                                                  developer   build:write
GET    /v1/builds                                                            viewer      build:read         steps
GET    /v1/builds/counts                                                     viewer      build:read
POST   /v1/builds/actions                                                    developer   build:write
GET    /v1/health                                                            viewer      runtime:read
GET    /v1/health/runtimes/{name}                                            viewer      runtime:read
GET    /v1/system                                                            viewer      account:read
GET    /v1/runtimes/{name}/activity                                          viewer      build:read
GET    /v1/queue                                                             viewer      build:read
GET    /v1/approvals                                                         viewer      build:read
GET    /v1/search                                                            viewer      build:read
POST   /v1/plan                                                              developer   build:write
GET    /v1/builds/{id}/plan                                                  viewer      build:read
GET    /v1/builds/{id}/related                                               viewer      build:read
GET    /v1/builds/{id}                                                       viewer      build:read         steps
GET    /v1/builds/{id}/wait                                                  viewer      build:read         steps
GET    /v1/builds/{id}/feed                                                  viewer      build:read         steps
GET    /v1/stream                                                            viewer      build:read
GET    /v1/builds/{id}/follow                                                viewer      build:read         steps
GET    /v1/builds/{id}/log                                                   viewer      build:read         steps
GET    /v1/builds/{id}/streams                                               viewer      build:read
GET    /v1/builds/{id}/log/lines                                             viewer      build:read
GET    /v1/builds/{id}/compare                                               viewer      build:read
GET    /v1/builds/{id}/usage                                                 viewer      build:read
GET    /v1/builds/{id}/log/search                                            viewer      build:read
GET    /v1/builds/{id}/log/marks                                             viewer      build:read
GET    /v1/builds/{id}/log/new                                               viewer      build:read
GET    /v1/annotations/{entity}/{id}                                         viewer      build:read         steps
PUT    /v1/annotations/{entity}/{id}                                         developer   build:write
DELETE /v1/annotations/{entity}/{id}/{name}                                  developer   build:write
GET    /v1/images                                                            viewer      build:read         steps
GET    /v1/images/{id}                                                       viewer      build:read         steps
GET    /v1/webhooks                                                          viewer      context:read
POST   /v1/webhooks                                                          maintainer  context:write
GET    /v1/webhooks/{name}                                                   viewer      context:read
DELETE /v1/webhooks/{name}                                                   maintainer  context:write
POST   /v1/webhooks/{name}/deliveries                                        anyone      -
GET    /v1/deliveries                                                        viewer      pipeline:read
GET    /v1/deliveries/{id}                                                   viewer      pipeline:read
POST   /v1/deliveries/{id}/replay                                            developer   build:write
GET    /v1/messages                                                          viewer      context:read
GET    /v1/messages/{id}                                                     viewer      context:read
POST   /v1/messages/{id}/retry                                               developer   build:write
GET    /v1/notifications                                                     viewer      notification:read
POST   /v1/notifications                                                     viewer      notification:write
GET    /v1/notifications/{name}                                              viewer      notification:read
PATCH  /v1/notifications/{name}                                              viewer      notification:write
DELETE /v1/notifications/{name}                                              viewer      notification:write
POST   /v1/notifications/{name}/test                                         viewer      notification:write
GET    /v1/mail-server                                                       admin       account:read
PUT    /v1/mail-server                                                       admin       account:write
DELETE /v1/mail-server                                                       admin       account:write
GET    /v1/triggers                                                          viewer      pipeline:read
POST   /v1/triggers                                                          developer   pipeline:write
POST   /v1/triggers/test                                                     viewer      pipeline:read
GET    /v1/triggers/{name}                                                   viewer      pipeline:read
PUT    /v1/triggers/{name}                                                   developer   pipeline:write
DELETE /v1/triggers/{name}                                                   developer   pipeline:write
GET    /v1/cron-triggers                                                     viewer      pipeline:read
POST   /v1/cron-triggers                                                     developer   pipeline:write
GET    /v1/cron-triggers/{name}                                              viewer      pipeline:read
PUT    /v1/cron-triggers/{name}                                              developer   pipeline:write
DELETE /v1/cron-triggers/{name}                                              developer   pipeline:write
GET    /v1/event-triggers                                                    viewer      pipeline:read
POST   /v1/event-triggers                                                    developer   pipeline:write
GET    /v1/event-triggers/{name}                                             viewer      pipeline:read
PUT    /v1/event-triggers/{name}                                             developer   pipeline:write
DELETE /v1/event-triggers/{name}                                             developer   pipeline:write
GET    /v1/settings                                                          viewer      account:read
PUT    /v1/settings                                                          admin       account:write
GET    /v1/master-keys                                                       admin       account:read
POST   /v1/master-keys/rotation                                              admin       account:write
POST   /v1/master-keys/prune                                                 admin       account:write
POST   /v1/archives                                                          admin       account:write
GET    /v1/builds/{id}/debug                                                 viewer      build:read
POST   /v1/builds/{id}/debug                                                 developer   pipeline:write
POST   /v1/builds/{id}/debug/{step}/{action}                                 developer   pipeline:write
POST   /v1/builds/{id}/terminals                                             developer   pipeline:write
GET    /v1/builds/{id}/terminals/{terminal}/output                           developer   pipeline:write
POST   /v1/builds/{id}/terminals/{terminal}/input                            developer   pipeline:write
GET    /v1/engine/terminals/{terminal}/input                                 attempt     -
POST   /v1/engine/terminals/{terminal}/output                                attempt     -
POST   /v1/agent/hello                                                       agent       -
POST   /v1/agent/claim                                                       agent       -
POST   /v1/agent/tasks                                                       agent       -
POST   /v1/agent/lease                                                       agent       -
POST   /v1/agent/facts                                                       agent       -
POST   /v1/agent/disks                                                       agent       -
POST   /v1/agent/jobs                                                        agent       -
PUT    /v1/agent/gitlab-managers/{id}                                        agent       -
POST   /v1/engine/claim                                                      bootstrap   -
POST   /v1/engine/wait                                                       bootstrap   -
POST   /v1/engine/document                                                   attempt     -
POST   /v1/engine/events                                                     any-attempt -
POST   /v1/engine/logs                                                       attempt     -
POST   /v1/engine/heartbeat                                                  attempt     -
GET    /v1/engine/commands                                                   attempt     -
GET    /v1/engine/git                                                        attempt     -
GET    /v1/engine/docker                                                     attempt     -
POST   /v1/monitor/hello                                                     agent       -
POST   /v1/monitor/objects                                                   agent       -
GET    /v1/gitlab-jobs                                                       viewer      gitlab-job:read
GET    /v1/gitlab-jobs/{id}                                                  viewer      gitlab-job:read
GET    /v1/tunnels                                                           viewer      gitops:read
GET    /v1/tunnels/{runtime}                                                 viewer      gitops:read
POST   /v1/tunnels/{runtime}/disconnect                                      admin       gitops:write
GET    /v1/gitops-settings                                                   viewer      gitops:read
PUT    /v1/gitops-settings                                                   admin       gitops:write
DELETE /v1/gitops-settings                                                   admin       gitops:write
GET    /v1/gitops-status                                                     viewer      gitops:read
GET    /v1/gitops-status/{runtime}                                           viewer      gitops:read
GET    /v1/gitops-clusters                                                   viewer      gitops:read
PUT    /v1/gitops-status                                                     gitops-runtime -
PUT    /v1/gitops-clusters                                                   gitops-runtime -
GET    /v1/gitops-runtimes                                                   viewer      gitops:read
GET    /v1/gitops-runtimes/{runtime}                                         viewer      gitops:read
PUT    /v1/gitops-runtimes/{runtime}/errors                                  admin       gitops:write
DELETE /v1/gitops-runtimes/{runtime}                                         admin       gitops:write
POST   /v1/gitops-runtimes/{runtime}/access                                  viewer      gitops:read
POST   /v1/gitops-runtimes/{runtime}/calls                                   viewer      -
GET    /v1/gitops-runtimes/{runtime}/tokens                                  viewer      gitops:read
POST   /v1/gitops-runtimes/{runtime}/tokens                                  admin       gitops:write
DELETE /v1/gitops-runtimes/{runtime}/tokens/{id}                             admin       gitops:write
GET    /v1/applications                                                      viewer      gitops:read
GET    /v1/applications/{id}                                                 viewer      gitops:read
GET    /v1/applications/{id}/deployments                                     viewer      gitops:read
GET    /v1/applications/{id}/images                                          viewer      gitops:read
GET    /v1/image-reports                                                     viewer      gitops:read
GET    /v1/image-reports/{id}                                                viewer      gitops:read
POST   /v1/image-reports                                                     image-reporter gitops:write
GET    /v1/gitops-rollouts                                                   viewer      gitops:read
GET    /v1/gitops-rollouts/{id}                                              viewer      gitops:read
GET    /v1/gitops-workflows                                                  viewer      gitops:read
GET    /v1/gitops-workflows/{id}                                             viewer      gitops:read
GET    /v1/applications/{id}/live                                            viewer      gitops:read
GET    /v1/applications/{id}/tree                                            viewer      gitops:read
GET    /v1/applications/{id}/diff                                            viewer      gitops:read
GET    /v1/applications/{id}/resource                                        viewer      gitops:read
GET    /v1/applications/{id}/events                                          viewer      gitops:read
GET    /v1/applications/{id}/logs                                            viewer      gitops:read
POST   /v1/applications/{id}/sync                                            developer   gitops:write
POST   /v1/applications/{id}/rollback                                        developer   gitops:write
POST   /v1/applications/{id}/refresh                                         developer   gitops:write
POST   /v1/applications/{id}/terminate                                       developer   gitops:write
GET    /v1/applications/{id}/rollouts                                        viewer      gitops:read
GET    /v1/applications/{id}/rollouts/rollback                               viewer      gitops:read
POST   /v1/applications/{id}/rollouts/rollback                               developer   gitops:write
POST   /v1/applications/{id}/rollouts/{action}                               developer   gitops:write
GET    /v1/environments                                                      viewer      gitops:read
GET    /v1/environments/{name}                                               viewer      gitops:read
PUT    /v1/environments/{name}                                               admin       gitops:write
DELETE /v1/environments/{name}                                               admin       gitops:write
GET    /v1/products                                                          viewer      gitops:read
GET    /v1/products/{name}                                                   viewer      gitops:read
PUT    /v1/products/{name}                                                   admin       gitops:write
DELETE /v1/products/{name}                                                   admin       gitops:write
GET    /v1/promotion-templates                                               viewer      gitops:read
GET    /v1/promotion-templates/{name}                                        viewer      gitops:read
PUT    /v1/promotion-templates/{name}                                        admin       gitops:write
DELETE /v1/promotion-templates/{name}                                        admin       gitops:write
GET    /v1/promotion-flows                                                   viewer      gitops:read
GET    /v1/promotion-flows/{name}                                            viewer      gitops:read
PUT    /v1/promotion-flows/{name}                                            admin       gitops:write
DELETE /v1/promotion-flows/{name}                                            admin       gitops:write
GET    /v1/promotion-policies                                                viewer      gitops:read
GET    /v1/promotion-policies/{name}                                         viewer      gitops:read
PUT    /v1/promotion-policies/{name}                                         admin       gitops:write
DELETE /v1/promotion-policies/{name}                                         admin       gitops:write
POST   /v1/products/{name}/releases                                          developer   gitops:write
GET    /v1/releases                                                          viewer      gitops:read
GET    /v1/releases/{id}                                                     viewer      gitops:read
POST   /v1/releases/{id}/terminate                                           developer   gitops:write
POST   /v1/releases/{id}/retry                                               developer   gitops:write
POST   /v1/errands/claim                                                     gitops-runtime -
POST   /v1/errands/{id}/report                                               gitops-runtime -
POST   /v1/gitops-calls/{id}/end                                             gitops-runtime -
POST   /2.0/api/events                                                       gitops-runtime -
POST   /2.0/api/graphql                                                      graphql     -
GET    /v1/gitlab-managers                                                   viewer      gitlab-job:read
PUT    /v1/gitlab-managers/{id}                                              maintainer  gitlab-report:write
GET    /v1/monitors                                                          viewer      cluster:read
DELETE /v1/monitors/{cluster}                                                admin       cluster:write
GET    /v1/monitors/{cluster}/objects                                        viewer      cluster:read
GET    /api/agent/{agent}/tasks                                              agent       -
POST   /api/agent/{agent}/tasks/{task}/statuses                              agent       -
PUT    /api/agent/{agent}/status                                             agent       -
GET    /api/agents                                                           viewer      agent:read
POST   /api/agents                                                           admin       agent:write
GET    /api/agents/name/{agent}                                              viewer      agent:read
GET    /api/agent/{agent}                                                    viewer      agent:read
PUT    /api/agent/{agent}                                                    admin       agent:write
DELETE /api/agent/{agent}                                                    admin       agent:write
POST   /api/custom_clusters/register                                         admin       runtime:write
POST   /api/custom_clusters/signServerCerts                                  runner      certificate:write
POST   /api/runner-installation                                              admin       installation:write
GET    /api/runner-installation/{id}                                         viewer      installation:read
PATCH  /api/runner-installation/{id}                                         admin       installation:write
GET    /api/clusters                                                         viewer      cluster:read
POST   /api/clusters/{provider}/cluster                                      admin       cluster:write
DELETE /api/clusters/{provider}/cluster/{id}                                 admin       cluster:write
GET    /api/runtime-environments                                             viewer      runtime:read
GET    /api/runtime-environments/{name}                                      viewer      runtime:read
GET    /api/runtime-environments/{name}/base-images                          viewer      runtime:read
PUT    /api/runtime-environments/{name}                                      admin       runtime:write
DELETE /api/runtime-environments/{name}                                      admin       runtime:write
PUT    /api/runtime-environments/default/{name}                              admin       runtime:write
GET    /api/admin/runtime-environments                                       admin       runtime:read
GET    /api/admin/runtime-environments/{name}                                admin       runtime:read
PUT    /api/admin/runtime-environments/{name}                                admin       runtime:write
DELETE /api/admin/runtime-environments/{name}                                admin       runtime:write
PUT    /api/admin/runtime-environments/account/modify/{name}                 admin       runtime:write
PUT    /api/admin/runtime-environments/default/{plan}/{name}                 admin       runtime:write
PUT    /api/admin/runtime-environments/account/default/{plan}/{name}         admin       runtime:write
GET    /api/auth/keys                                                        admin       key:read
POST   /api/auth/key                                                         admin       key:write
GET    /api/auth/key/{id}                                                    viewer      agent:read
DELETE /api/auth/key/{id}                                                    admin       key:write
GET    /api/user                                                             viewer      -
GET    /api/execution-contexts/current                                       viewer      -                  steps
GET    /api/admin/accounts                                                   admin       account:read
GET    /api/version                                                          viewer      -
GET    /api/hermes/version                                                   viewer      -
GET    /nomios/version                                                       viewer      -
PATCH  /api/auth/key/{id}                                                    admin       key:write
GET    /api/projects                                                         viewer      pipeline:read
POST   /api/projects                                                         maintainer  pipeline:write
GET    /api/projects/name/{name}                                             viewer      pipeline:read
GET    /api/projects/{id}                                                    viewer      pipeline:read
PATCH  /api/projects/{id}                                                    maintainer  pipeline:write
DELETE /api/projects/{id}                                                    maintainer  pipeline:write
GET    /api/pipelines                                                        viewer      pipeline:read      steps
GET    /api/pipelines/names                                                  viewer      pipeline:read
GET    /api/pipelines/{name}                                                 viewer      pipeline:read      steps
POST   /api/pipelines                                                        developer   pipeline:write
PUT    /api/pipelines/{name}                                                 developer   pipeline:write
DELETE /api/pipelines/{name}                                                 developer   pipeline:write
POST   /api/pipelines/yaml/validator                                         viewer      pipeline:read
POST   /api/pipelines/run/{name}                                             developer   build:write        steps
POST   /api/pipelines/run                                                    developer   build:write
GET    /api/builds/rebuild/{id}                                              developer   build:write
GET    /api/builds/{id}                                                      viewer      build:read         steps
GET    /api/workflow                                                         viewer      build:read         steps
GET    /api/workflow/{id}/pending-approval/approve                           developer   build:write
GET    /api/workflow/{id}/pending-approval/deny                              developer   build:write
GET    /api/progress/{id}                                                    viewer      build:read         steps
DELETE /api/progress/{id}                                                    developer   build:write        parent
GET    /api/user/firebaseAuth                                                viewer      build:read         steps
GET    /api/logs/{id}/status.json                                            anyone      -
GET    /api/logs/{id}/archive.json                                           anyone      -
GET    /api/contexts                                                         viewer      context:read
GET    /api/contexts/{name}                                                  viewer      context:read
POST   /api/contexts/                                                        maintainer  context:write
PUT    /api/contexts/{name}                                                  maintainer  context:write
PATCH  /api/contexts/{name}                                                  maintainer  context:write
DELETE /api/contexts/{name}                                                  maintainer  context:write
GET    /api/registries                                                       viewer      context:read
POST   /api/registries/test                                                  maintainer  context:write
POST   /api/registries                                                       maintainer  context:write
DELETE /api/registries/{id}                                                  maintainer  context:write
GET    /api/images                                                           viewer      build:read         steps
GET    /api/step-types                                                       viewer      pipeline:read
GET    /api/step-types/{name}                                                viewer      pipeline:read
GET    /api/step-types/{name}/versions                                       viewer      pipeline:read
POST   /api/step-types                                                       developer   pipeline:write
PUT    /api/step-types/{name}                                                developer   pipeline:write
DELETE /api/step-types/{name}                                                developer   pipeline:write
GET    /api/annotations                                                      viewer      build:read         steps
POST   /api/annotations                                                      developer   build:write
DELETE /api/annotations                                                      developer   build:write
GET    /api/repos/{owner}/{repo}                                             developer   context:read
GET    /api/services/{name}                                                  viewer      context:read
POST   /api/services                                                         developer   context:read
GET    /api/team                                                             maintainer  user:read
POST   /api/team                                                             admin       user:write
PUT    /api/team/{teamId}/{userId}/assignUserToTeam                          admin       user:write
PUT    /api/team/{teamId}/{userId}/deleteUserFromTeam                        admin       user:write
GET    /api/audit/download                                                   admin       audit:read
POST   /api/workflow/{id}/data                                               developer   build:write
GET    /api/workflow/{id}/data                                               viewer      build:read
GET    /api/workflow/{id}/data/{item}                                        viewer      build:read
GET    /api/helm/boards                                                      viewer      cluster:read
GET    /api/helm/repos                                                       viewer      context:read
GET    /api/compositions                                                     viewer      context:read
GET    /api/environments                                                     viewer      build:read
GET    /api/hermes/triggers                                                  viewer      pipeline:read
GET    /api/hermes/triggers/event/{event}                                    viewer      pipeline:read
GET    /api/hermes/triggers/pipeline/{pipeline}                              viewer      pipeline:read
POST   /api/hermes/triggers/{event}/{pipeline}                               developer   pipeline:write
DELETE /api/hermes/triggers/{event}/{pipeline}                               developer   pipeline:write
GET    /api/hermes/events                                                    viewer      pipeline:read
GET    /api/hermes/events/{uri}                                              viewer      pipeline:read
POST   /api/hermes/events                                                    developer   pipeline:write
GET    /api/hermes/types                                                     viewer      pipeline:read
GET    /api/hermes/types/{type}/{kind}                                       viewer      pipeline:read
GET    /v1/openapi.json                                                      anyone      -
`
