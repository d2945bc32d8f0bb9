/** The routes of the page. Each screen is a chunk of its own. */
import { Suspense, type ReactElement } from 'react'
import { Redirect, Route, Switch } from 'wouter'
import { BuildScreen } from './build/late-parts.ts'
import { Loading } from './parts/loading.tsx'
import { late } from './shell/late.tsx'
import { NotHere } from './shell/not-here.tsx'
import { Shell } from './shell/shell.tsx'
import { paths } from './url/paths.ts'

const SignIn = late(async () => (await import('./signin/sign-in.tsx')).SignIn)
const Home = late(async () => (await import('./builds/home.tsx')).Home)
const Builds = late(async () => (await import('./builds/builds.tsx')).Builds)
const BuildByNumber = late(async () => (await import('./build/build-by-number.tsx')).BuildByNumber)
const Pipelines = late(async () => (await import('./pipelines/pipelines.tsx')).Pipelines)
const PipelineScreen = late(async () => (await import('./pipelines/pipeline-screen.tsx')).PipelineScreen)
const NewPipeline = late(async () => (await import('./editor/new-pipeline.tsx')).NewPipeline)
const GitlabJobs = late(async () => (await import('./gitlab-jobs/gitlab-jobs.tsx')).GitlabJobs)
const Applications = late(async () => (await import('./delivery/applications.tsx')).Applications)
const ApplicationScreen = late(async () => (await import('./delivery/application/application-screen.tsx')).ApplicationScreen)
const Products = late(async () => (await import('./delivery/products/products.tsx')).Products)
const ProductScreen = late(async () => (await import('./delivery/products/product-screen.tsx')).ProductScreen)
const Runtimes = late(async () => (await import('./fleet/runtimes.tsx')).Runtimes)
const RuntimeScreen = late(async () => (await import('./fleet/runtime-screen.tsx')).RuntimeScreen)
const AgentScreen = late(async () => (await import('./fleet/agents/agent-screen.tsx')).AgentScreen)
const SystemScreen = late(async () => (await import('./system/system-screen.tsx')).SystemScreen)
const Approvals = late(async () => (await import('./approvals/approvals.tsx')).Approvals)
const Deliveries = late(async () => (await import('./deliveries/deliveries.tsx')).Deliveries)
const DeliveryScreen = late(async () => (await import('./deliveries/delivery-screen.tsx')).DeliveryScreen)
const Contexts = late(async () => (await import('./contexts/contexts.tsx')).Contexts)
const ContextScreen = late(async () => (await import('./contexts/context-screen.tsx')).ContextScreen)
const Access = late(async () => (await import('./access/access.tsx')).Access)

export function App(): ReactElement {
  return (
    <Switch>
      <Route path="/signin">
        <Suspense fallback={<Loading what="the sign-in" />}>
          <SignIn />
        </Suspense>
      </Route>
      <Route>
        <Shell>
          <Switch>
            <Route path="/">
              <Home />
            </Route>
            <Route path="/builds">
              <Builds />
            </Route>
            <Route path="/b/:number">
              <BuildByNumber />
            </Route>
            <Route path="/builds/:id/terminals/:terminal">
              {({ id, terminal }) => <Redirect to={paths.debug(id, { terminal })} replace />}
            </Route>
            <Route path="/builds/:id/*?">
              <BuildScreen />
            </Route>
            <Route path="/pipelines">
              <Pipelines />
            </Route>
            <Route path="/pipelines/-/new">
              <NewPipeline />
            </Route>
            <Route path="/pipelines/*">
              <PipelineScreen />
            </Route>
            <Route path="/gitlab-jobs">
              <GitlabJobs />
            </Route>
            <Route path="/delivery/apps">
              <Applications />
            </Route>
            <Route path="/delivery/apps/:runtime/:namespace/:name/:part?">
              <ApplicationScreen />
            </Route>
            <Route path="/delivery/products">
              <Products />
            </Route>
            <Route path="/delivery/products/:name">
              <ProductScreen />
            </Route>
            <Route path="/approvals">
              <Approvals />
            </Route>
            <Route path="/deliveries">
              <Deliveries />
            </Route>
            <Route path="/deliveries/:id">
              <DeliveryScreen />
            </Route>
            <Route path="/contexts">
              <Contexts />
            </Route>
            <Route path="/contexts/*">
              <ContextScreen />
            </Route>
            <Route path="/access/:part?">
              <Access />
            </Route>
            <Route path="/runtimes">
              <Runtimes />
            </Route>
            <Route path="/runtimes/*">
              <RuntimeScreen />
            </Route>
            <Route path="/agents/*">
              <AgentScreen />
            </Route>
            <Route path="/system">
              <SystemScreen />
            </Route>
            <Route component={NotHere} />
          </Switch>
        </Shell>
      </Route>
    </Switch>
  )
}
