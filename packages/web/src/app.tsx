/** The routes of the page. Each screen is a chunk of its own. */
import { Suspense, type ReactElement } from 'react'
import { Route, Switch } from 'wouter'
import { Loading } from './parts/loading.tsx'
import { late } from './shell/late.tsx'
import { NotHere } from './shell/not-here.tsx'
import { Shell } from './shell/shell.tsx'

const SignIn = late(async () => (await import('./signin/sign-in.tsx')).SignIn)
const Home = late(async () => (await import('./builds/home.tsx')).Home)
const Builds = late(async () => (await import('./builds/builds.tsx')).Builds)
const BuildByNumber = late(async () => (await import('./build/build-by-number.tsx')).BuildByNumber)
const BuildScreen = late(async () => (await import('./build/build-screen.tsx')).BuildScreen)
const Pipelines = late(async () => (await import('./pipelines/pipelines.tsx')).Pipelines)
const PipelineScreen = late(async () => (await import('./pipelines/pipeline-screen.tsx')).PipelineScreen)
const Approvals = late(async () => (await import('./approvals/approvals.tsx')).Approvals)

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
            <Route path="/builds/:id/*?">
              <BuildScreen />
            </Route>
            <Route path="/pipelines">
              <Pipelines />
            </Route>
            <Route path="/pipelines/*">
              <PipelineScreen />
            </Route>
            <Route path="/approvals">
              <Approvals />
            </Route>
            <Route component={NotHere} />
          </Switch>
        </Shell>
      </Route>
    </Switch>
  )
}
