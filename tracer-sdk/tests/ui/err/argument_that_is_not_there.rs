#[tracer_sdk::trace(tool, args(query, limits, query))]
fn search(query: &str, limit: usize) -> usize {
    query.len() + limit
}

#[tracer_sdk::trace(tool, args(query))]
fn list() {}

#[tracer_sdk::trace(tool, args())]
fn count(_limit: usize) {}

struct Agent;

impl Agent {
    #[tracer_sdk::trace(tool, args(self))]
    fn ask(&self) {}
}

fn main() {
    search("rust", 1);
    list();
    count(1);
    Agent.ask();
}
