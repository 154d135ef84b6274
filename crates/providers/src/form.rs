//! Forms (`multipart/form-data`), as sound and images are sent: their texts as JSON, their files by name and size.

use serde_json::{Map, Value, json};

/// The line that divides the fields of a form.
fn boundary(body: &[u8]) -> Option<&[u8]> {
    let end = body.windows(2).take(200).position(|pair| pair == b"\r\n")?;
    body.get(..end)
        .filter(|line| line.starts_with(b"--") && line.len() > 2)
}

/// The fields of a form as an object, those of one name as an array; `None` of what is no form.
pub fn form_fields(body: &[u8]) -> Option<Value> {
    let boundary = boundary(body)?;
    let places: Vec<usize> = memchr::memmem::find_iter(body, boundary).collect();
    let mut fields = Map::new();
    for pair in places.windows(2) {
        let [start, end] = pair else { continue };
        let field = body.get(start + boundary.len() + 2..*end)?;
        let head_end = memchr::memmem::find(field, b"\r\n\r\n")?;
        let (head, content) = field.split_at_checked(head_end + 4)?;
        let content = content.strip_suffix(b"\r\n").unwrap_or(content);
        let head = String::from_utf8_lossy(head);
        let Some(name) = parameter(&head, "name") else {
            continue;
        };
        let value = match parameter(&head, "filename") {
            Some(file) => json!({"file": file, "bytes": content.len()}),
            None => Value::from(String::from_utf8_lossy(content)),
        };
        match fields.get_mut(name) {
            None => {
                fields.insert(name.to_owned(), value);
            }
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = json!([first.take(), value]),
        }
    }
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// Returns whether a request is what [`form_fields`] gives of a form with a file.
pub fn is_form(request: &Value) -> bool {
    let is_file = |field: &Value| field.get("file").is_some() && field["bytes"].is_u64();
    request.as_object().is_some_and(|fields| {
        fields.values().any(|field| match field {
            Value::Array(values) => values.iter().any(is_file),
            field => is_file(field),
        })
    })
}

/// A parameter of the `Content-Disposition`: `name="model"`.
fn parameter<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut parts = head.lines().next()?.split(';').map(str::trim);
    let value = parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('='))?;
    Some(value.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(boundary: &str) -> Vec<u8> {
        format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n--{boundary}\r\n\
             Content-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/wav\r\n\r\n\
             RIFF\r\n\r\n--{boundary}--\r\n"
        )
        .into_bytes()
    }

    #[test]
    fn fields_are_texts_and_files_sizes() {
        let fields = form_fields(&form("x7"));
        assert_eq!(
            fields,
            Some(json!({"model": "whisper-1", "file": {"file": "a.wav", "bytes": 6}}))
        );
        assert!(fields.is_some_and(|fields| is_form(&fields)));
        assert!(!is_form(&json!({"model": "m", "file": "a.wav"})));
        for other in [
            &b"{}"[..],
            b"",
            b"--",
            b"--\r\n",
            b"--x\r\n",
            b"--x\r\n--x\r\n--x",
        ] {
            assert_eq!(form_fields(other), None, "{other:?}");
        }
    }

    #[test]
    fn each_field_counts_whatever_its_name_and_number() {
        let field = |disposition: &str, content: &str| {
            format!("--x7\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{content}\r\n")
        };
        let images = [
            field(r#"name="image[]"; filename="a.png""#, "PNG"),
            field(r#"name="image[]"; filename="b.png""#, "PN"),
        ];
        let form = format!("{}--x7--\r\n", images.concat());
        let fields = form_fields(form.as_bytes());
        let expected = json!({"image[]": [{"file": "a.png", "bytes": 3}, {"file": "b.png", "bytes": 2}]});
        assert_eq!(fields, Some(expected.clone()));
        assert!(is_form(&expected));
        let many = |last: &str| {
            let fields = (0..100).map(|number| field(&format!("name=\"n{number}\""), "text"));
            let form = fields.chain([field("name=\"last\"", last)]).collect::<String>();
            form_fields(format!("{form}--x7--\r\n").as_bytes())
        };
        assert!(many("a").is_some());
        assert_ne!(many("a"), many("b"));
    }
}
