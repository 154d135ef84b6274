trait Tool {
    #[tracer_sdk::trace(tool)]
    fn call(&self);
}

fn main() {}
